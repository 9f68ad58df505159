/**
 * Turns the arguments that a model or caller sent into those that run: drops presets, validates, merges, validates.
 * Pure.
 */
import type { Issue } from '../../core/errors.ts'
import { isJsonObject, jsonTooBig, type JsonObject } from '../../core/json.ts'
import { issuesIn } from '../../core/json-schema.ts'
import { mergePresets } from './presets.ts'
import { shownSchema } from './callable.ts'
import type { OwnedDefinition } from './tool.ts'

export type Prepared =
  | {
      ok: true
      /** What the caller may see: without presets. */
      arguments: JsonObject
      /** What the tool gets. */
      merged: JsonObject
      /** Preset keys that the caller sent; they had no effect and are audited. */
      dropped: string[]
    }
  | { ok: false; issues: Issue[]; dropped: string[] }

/** Larger or deeper arguments are refused before any schema is evaluated. */
export const argumentLimits = { maxBytes: 256 * 1024, maxDepth: 64 }

/**
 * Validates against the schema without presets, merges the presets, validates the result. Paths start at `arguments`.
 */
export function prepareCall(definition: OwnedDefinition, given: unknown): Prepared {
  const refuse = (issues: Issue[], dropped: string[] = []): Prepared => ({
    ok: false,
    issues: issues.map((issue) => ({ ...issue, path: ['arguments', ...issue.path] })),
    dropped,
  })
  if (!isJsonObject(given)) return refuse([{ path: [], message: 'must be a JSON object' }])
  const tooBig = jsonTooBig(given, argumentLimits)
  if (tooBig) return refuse([{ path: [], message: tooBig }])
  const { args: merged, dropped } = mergePresets(given, definition.presetParameters)
  const own = withoutKeys(given, dropped)
  const shown = shownSchema(definition)
  const checks: [JsonObject, JsonObject][] = [[shown, own]]
  // Without presets the caller sees the whole schema, and nothing was merged.
  if (shown !== definition.inputSchema) checks.push([definition.inputSchema, merged])
  for (const [schema, value] of checks) {
    const issues = issuesIn(schema, definition.projectId, value)
    if (issues.length > 0) return refuse(issues, dropped)
  }
  return { ok: true, arguments: own, merged, dropped }
}

function withoutKeys(value: JsonObject, keys: string[]): JsonObject {
  if (keys.length === 0) return value
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)))
}
