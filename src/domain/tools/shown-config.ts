/** What of a tool's configuration is shown to whom. */
import type { JsonObject } from '../../core/json.ts'
import { allows, type Ctx } from '../access/index.ts'
import { mask } from '../../core/scrub.ts'
import type { Tool } from './tool.ts'

/**
 * Fixed values (presets, literal headers) as this caller may see them: with their names only, the values masked, for
 * whoever may not do `tools:Update` on the tool. They often hold what its users are not to know.
 */
export function shownValues(ctx: Ctx, tool: Tool, values: JsonObject): JsonObject {
  if (allows(ctx.principal.policy, 'tools:Update', `tool/${tool.id}`)) return values
  return Object.fromEntries(Object.keys(values).map((name) => [name, mask]))
}
