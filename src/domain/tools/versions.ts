/** Versions of a tool: each change adds a row, together with its audit entry and event. */
import { and, eq, sql } from 'drizzle-orm'
import type { Database } from '../../store/db/database.ts'
import { tools, toolVersions } from '../../store/db/tables/tools.ts'
import { appendProjectEvents } from '../../store/events/log.ts'
import { recordChange, type Ctx } from '../access/index.ts'
import { gateFactsOf, recordGateChange } from './gate-facts.ts'
import { saveOutside } from './outside.ts'
import type { Tool, ToolDefinition } from './tool.ts'

/**
 * Saves a definition as the next version, with everything that belongs to it; null when the tool no longer has
 * `known.version`.
 */
export async function saveVersion(
  tx: Database,
  ctx: Ctx,
  known: Tool,
  definition: ToolDefinition,
): Promise<Tool | null> {
  const [row] = await tx
    .update(tools)
    .set({ name: definition.name, definition, version: sql`${tools.version} + 1`, updatedAt: sql`now()` })
    .where(and(eq(tools.id, known.id), eq(tools.version, known.version)))
    .returning()
  if (!row) return null
  const tool = toolOf(row)
  await insertVersion(tx, row)
  await saveOutside(tx, tool)
  await recordTool(tx, ctx, 'TOOL_UPDATED', tool)
  if (gateFactsOf(definition) !== gateFactsOf(known))
    await recordGateChange(tx, ctx, tool, { version: tool.version })
  return tool
}

export function toolOf(row: typeof tools.$inferSelect): Tool {
  const { id, projectId, version, createdAt, updatedAt } = row
  return { ...(row.definition as ToolDefinition), id, projectId, version, createdAt, updatedAt }
}

/** Stores the definition of a tool's row as its version. */
export async function insertVersion(tx: Database, row: typeof tools.$inferSelect): Promise<void> {
  const { id: toolId, version, projectId, definition } = row
  await tx.insert(toolVersions).values({ toolId, version, projectId, definition })
}

/** Caches versions, which never change; the oldest entry is dropped first. */
const versions = new Map<string, ToolDefinition>()
const maxCachedVersions = 2000

/** The definition that a call was proposed with, whatever happened to the tool since. */
export async function loadVersion(db: Database, toolId: string, version: number): Promise<ToolDefinition> {
  const key = `${toolId}@${version}`
  const known = versions.get(key)
  if (known) return known
  const [row] = await db
    .select({ definition: toolVersions.definition })
    .from(toolVersions)
    .where(and(eq(toolVersions.toolId, toolId), eq(toolVersions.version, version)))
  const definition = row!.definition as ToolDefinition
  versions.set(key, definition)
  if (versions.size > maxCachedVersions) versions.delete(versions.keys().next().value!)
  return definition
}

/** Writes the audit entry and the event of a change of a tool. */
export async function recordTool(
  tx: Database,
  ctx: Ctx,
  type: 'TOOL_CREATED' | 'TOOL_UPDATED' | 'TOOL_DELETED',
  tool: Tool,
): Promise<void> {
  const action = (
    { TOOL_CREATED: 'tools:Create', TOOL_UPDATED: 'tools:Update', TOOL_DELETED: 'tools:Delete' } as const
  )[type]
  const details = { name: tool.name, version: tool.version }
  await recordChange(tx, ctx, { projectId: tool.projectId, action, resource: `tool/${tool.id}`, details })
  await appendProjectEvents(tx, tool.projectId, [{ type, data: { toolId: tool.id, ...details } }])
}
