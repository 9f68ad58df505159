/** The versions of a tool for people: what changed, by whom and when. */
import { hashJson, isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { changesBetween, type JsonChange } from '../../core/json-changes.ts'
import { viewOf } from '../../core/field-list.ts'
import type { Page } from '../../core/page.ts'
import { mask } from '../../core/scrub.ts'
import { versionPage } from '../../store/db/versions.ts'
import { toolVersions } from '../../store/db/tables/tools.ts'
import { allows, type Ctx } from '../access/index.ts'
import { shownSchema } from './callable.ts'
import { toolFields, type ToolDefinition } from './fields.ts'
import type { Tool } from './tool.ts'
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
