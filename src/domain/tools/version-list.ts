/** The versions of a tool for people: what changed, by whom and when. */
import { hashJson, isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { changesBetween, type JsonChange } from '../../core/json-changes.ts'
import type { Page } from '../../core/page.ts'
import { mask } from '../../core/scrub.ts'
import { versionPage } from '../../store/db/versions.ts'
import { toolVersions } from '../../store/db/tables/tools.ts'
import { allows, type Ctx } from '../access/index.ts'
import { shownSchema } from './callable.ts'
import type { Tool, ToolDefinition } from './tool.ts'
import { definitionOf } from './versions.ts'

/** A version as a caller may see it. */
export interface ShownVersion {
  /** The number of the version, for cursors. */
  id: string
  version: number
  createdBy: string | null
  createdAt: Date
  definition: JsonObject
  /** Differences from the version before it; empty for the first. */
  changes: JsonChange[]
}

/** The most differences that a version shows. */
export const mostChanges = 100

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

/** The parts of a definition that the API shows, in the names of its fields; masked values as marks. */
function shownDefinition(tool: Tool, definition: ToolDefinition, seesAll: boolean): JsonObject {
  const { http, mcp, platform, task, gate, agentsOnly } = definition
  const values = (all: JsonObject): JsonObject =>
    seesAll ? all : Object.fromEntries(Object.entries(all).map(([name, value]) => [name, markOf(value)]))
  const schema = seesAll ? definition.inputSchema : shownSchema({ ...tool, ...definition })
  const { name, title, description, outputSchema, annotations, timeoutMs, idempotent } = definition
  return asJson({
    name,
    title,
    description,
    inputSchema: mcp || platform ? null : schema,
    outputSchema,
    annotations,
    presetParameters: values(definition.presetParameters),
    timeoutMs,
    idempotent,
    // Absent in versions older than these settings.
    gate: gate ?? null,
    agentsOnly: agentsOnly ?? false,
    task: task ?? null,
    http: http && { ...http, headers: values(http.headers) },
    mcp: mcp ? { ...mcp, headers: values(mcp.headers), auth: seesAll ? mcp.auth : null } : null,
    platform: platform ?? null,
  })
}

/** Leaves out what is undefined, as the stored JSON does. */
function asJson(value: object): JsonObject {
  // Not over a text: a mark begins with NUL, which no text has that was read.
  return defined(value as JsonObject) as JsonObject
}

function defined(value: Json): Json {
  if (Array.isArray(value)) return value.map(defined)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value as Record<string, Json | undefined>)
  return Object.fromEntries(
    entries.flatMap(([key, one]): [string, Json][] => (one === undefined ? [] : [[key, defined(one)]])),
  )
}

function unmarked<Value extends Json | undefined>(value: Value): Value | Json {
  if (typeof value === 'string') return value.startsWith('\u0000') ? mask : value
  if (Array.isArray(value)) return value.map((entry) => unmarked(entry))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unmarked(entry)]))
}
