/** Versions of a tool: each change adds a row, with its audit entry and event, and people read what changed. */
import { z } from 'zod'
import { part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { BoundedMap } from '../../core/bounded.ts'
import { hashJson, isJsonObject, type Json, type JsonObject, changesBetween } from '../../core/json.ts'
import { completeFields, coverageOf, viewOf } from '../../core/field-list.ts'
import { inKeyOrder, schemaOrderOf, type KeyOrder } from '../../core/key-order.ts'
import { and, eq } from 'drizzle-orm'
import type { Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { tools, toolVersions } from '../../store/db/tables/tools.ts'
import { insertSelect } from '../../store/db/rows.ts'
import { recordChange, type Ctx, allows } from '../access/index.ts'
import { appendProjectEvents, toolCreated, toolDeleted, toolUpdated } from '../events/index.ts'
import { gateFactsOf, recordGateChanged } from './gates.ts'
import { saveOutside } from './outside.ts'
import { toolFields, type ToolDefinition } from './fields.ts'
import { type Tool, shownSchema } from './callable.ts'
import type { Page } from '../../core/page.ts'
import { mask } from '../../core/scrub.ts'
import { versionPage } from '../../store/db/lists.ts'

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
  const isJudged = hashJson(coverageOf(toolFields, definition)) !== hashJson(coverageOf(toolFields, known))
  const judgedVersion = isJudged ? known.version + 1 : known.judgedVersion
  const [row] = await tx
    .update(tools)
    .set({
      name: definition.name,
      definition: storedDefinition(definition, judgedVersion),
      version: sql`${tools.version} + 1`,
      updatedAt: sql`now()`,
    })
    .where(and(eq(tools.id, known.id), eq(tools.version, known.version)))
    .returning()
  if (!row) return null
  const tool = toolOf(row)
  await insertVersion(tx, ctx, row)
  await saveOutside(tx, tool)
  await recordToolChange(tx, ctx, 'update', tool)
  if (gateFactsOf(definition) !== gateFactsOf(known))
    await recordGateChanged(tx, ctx, tool, { version: tool.version })
  return tool
}

export function toolOf(row: typeof tools.$inferSelect): Tool {
  const { id, projectId, version, createdAt, updatedAt } = row
  // Rows of earlier releases do not tell: each of their changes may have been judged.
  const { judgedVersion = version } = row.definition as StoredDefinition
  return { ...definitionOf(row), id, projectId, version, judgedVersion, createdAt, updatedAt }
}

type StoredDefinition = ToolDefinition & { order?: KeyOrder; judgedVersion?: number }

/**
 * A definition as it is stored: with the order of properties in its schemas, a KeyOrder, when jsonb would lose it, and with
 * `judgedVersion` of the tool.
 */
export function storedDefinition(definition: ToolDefinition, judgedVersion: number): unknown {
  const { inputSchema, outputSchema } = definition
  const order = schemaOrderOf({ inputSchema, outputSchema })
  return { ...definition, ...(order ? { order } : {}), judgedVersion } satisfies StoredDefinition
}

/** The definition of a row, by whichever release it was stored. */
function definitionOf(row: { definition: unknown }): ToolDefinition {
  const { order, judgedVersion: _judgedVersion, ...stored } = row.definition as StoredDefinition
  const definition = completeFields(toolFields, stored)
  if (!order) return definition
  const { inputSchema, outputSchema } = definition
  return { ...definition, ...inKeyOrder({ inputSchema, outputSchema }, order) }
}

/** Stores the definition of a tool's row as its version, made by the caller. */
export async function insertVersion(tx: Database, ctx: Ctx, row: typeof tools.$inferSelect): Promise<void> {
  const { id: toolId, version, projectId, definition } = row
  await tx
    .insert(toolVersions)
    .values({ toolId, version, projectId, definition, createdBy: ctx.principal.id })
}

/** Parts of a statement that insert the only version of client tools of a run; over a relation `g`, empty for nothing. */
export function insertRunTools(
  given: readonly { id: string; definition: ToolDefinition }[],
  { projectId, by }: { projectId: string; by: string },
): SQL[] {
  return given.map(({ id: toolId, definition }) =>
    insertSelect(
      toolVersions,
      { toolId, version: 1, projectId, definition: storedDefinition(definition, 1), createdBy: by },
      sql`g`,
    ),
  )
}

/** Caches versions, which never change; the oldest entry is dropped first. */
const versions = new BoundedMap<string, ToolDefinition>(2000)

/** The definition that a call was proposed with, whatever happened to the tool since. */
export async function loadVersion(db: Database, toolId: string, version: number): Promise<ToolDefinition> {
  const key = `${toolId}@${version}`
  const known = versions.get(key)
  if (known) return known
  const [row] = await db
    .select({ definition: toolVersions.definition })
    .from(toolVersions)
    .where(and(eq(toolVersions.toolId, toolId), eq(toolVersions.version, version)))
  const definition = definitionOf(row!)
  versions.set(key, definition)
  return definition
}

const changeRecords = {
  create: { action: 'tools:Create', event: toolCreated },
  update: { action: 'tools:Update', event: toolUpdated },
  delete: { action: 'tools:Delete', event: toolDeleted },
} as const

/** Records what happened to a tool: an audit entry and an event. Call it in the transaction of the change. */
export async function recordToolChange(
  tx: Database,
  ctx: Ctx,
  change: keyof typeof changeRecords,
  tool: Tool,
): Promise<void> {
  const { action, event } = changeRecords[change]
  const details = { name: tool.name, version: tool.version }
  await recordChange(tx, ctx, { projectId: tool.projectId, action, resource: `tool/${tool.id}`, details })
  await appendProjectEvents(tx, tool.projectId, [event({ toolId: tool.id, ...details })])
}

/** See JsonChange. */
export const versionChange = part('VersionChange', 'A place in a definition whose value a version changed.', {
  path: view.text('The place as a JSON Pointer (RFC 6901), such as /presetParameters/currency.'),
  before: view.json('The value in the version before; null when the place was not there.').optional(),
  after: view.json('The value in this version; null when the place was removed.').optional(),
})

/** A version as a caller may see it. */
export const versionShape = part('Version', 'A version of a tool or an agent. Versions never change.', {
  version: view.int('The number of the version, from 1.'),
  createdBy: view
    .principal('author', 'The principal that made the version; null for a version of an older release.')
    .nullable(),
  createdAt: view.date('When the version was made.'),
  definition: view.jsonObject('The definition in this version.'),
  changes: z
    .array(versionChange)
    .describe(
      'The differences from the version before, in the order of the definition; empty for the first version.',
    ),
})
export interface ShownVersion extends z.output<typeof versionShape> {
  /** The number of the version, for cursors. */
  id: string
}

/** The most differences that a version shows. */
export const mostChanges = 100

/** What changed from one version of a tool to another, unmasked. */
export const changesOf = (before: Tool, after: Tool) =>
  changesBetween(viewOf(toolFields, before, null), viewOf(toolFields, after, null), mostChanges)

/**
 * The versions of a tool that the caller may read, newest first. As in the tool itself, values of presets and headers
 * are masked for a caller without `tools:Update`; that one of them changed is shown.
 */
export async function listToolVersions(ctx: Ctx, tool: Tool, page: Page): Promise<ShownVersion[]> {
  const rows = await versionPage(ctx.db, toolVersions, { column: toolVersions.toolId, id: tool.id }, page)
  const seesAll = allows(ctx.principal.policy, 'tools:Update', `tool/${tool.id}`)
  const shown = (row: { definition: unknown }) => shownDefinition(tool, definitionOf(row), seesAll)
  return rows.map(({ row, before }) => {
    const { version, createdBy, createdAt } = row
    const now = shown(row)
    const changes = before ? changesBetween(shown(before), now, mostChanges) : []
    return {
      id: String(version),
      version,
      createdBy,
      createdAt,
      definition: unmarked(now) as JsonObject,
      changes: changes.map((change) => ({
        ...change,
        before: unmarked(change.before),
        after: unmarked(change.after),
      })),
    }
  })
}

/** Stands for a masked value until versions were compared: equal values have equal marks. */
const markOf = (value: Json): string => `\u0000${hashJson(value)}`

/** A definition in the names of its fields; what the caller may not see as marks. */
function shownDefinition(tool: Tool, definition: ToolDefinition, seesAll: boolean): JsonObject {
  if (seesAll) return viewOf(toolFields, definition, null)
  return viewOf(toolFields, definition, {
    values: (all) => Object.fromEntries(Object.entries(all).map(([name, value]) => [name, markOf(value)])),
    schema: () => shownSchema({ ...tool, ...definition }),
  })
}

function unmarked<Value extends Json | undefined>(value: Value): Value | Json {
  if (typeof value === 'string') return value.startsWith('\u0000') ? mask : value
  if (Array.isArray(value)) return value.map((entry) => unmarked(entry))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unmarked(entry)]))
}
