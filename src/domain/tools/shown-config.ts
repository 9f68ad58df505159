/** Which parts of a tool's configuration a caller may see. */
import type { JsonObject } from '../../core/json.ts'
import { allows, type Ctx } from '../access/index.ts'
import { mask } from '../../core/scrub.ts'
import type { Tool } from './tool.ts'

/**
 * Fixed values (presets, literal headers) for this caller: without `tools:Update` on the tool their names only, with
 * the values masked, because they often contain what users of the tool must not know.
 */
export function shownValues(ctx: Ctx, tool: Tool, values: JsonObject): JsonObject {
  if (allows(ctx.principal.policy, 'tools:Update', `tool/${tool.id}`)) return values
  return Object.fromEntries(Object.keys(values).map((name) => [name, mask]))
}

/**
 * The schema of the arguments as the tool was saved with it, presets included: null for this caller without
 * `tools:Update` on the tool, and for tools whose actions have schemas of their own.
 */
export function shownFullSchema(ctx: Ctx, tool: Tool): JsonObject | null {
  if (tool.mcp || tool.platform) return null
  return allows(ctx.principal.policy, 'tools:Update', `tool/${tool.id}`) ? tool.inputSchema : null
}
