/**
 * Turns the arguments that a model or caller sent into those that run: drops presets, validates, merges, validates.
 * Attached files are beside them. Pure.
 */
import type { Issue } from '../../core/errors.ts'
import { isJsonObject, jsonTooBig, type JsonObject } from '../../core/json.ts'
import { issuesIn } from '../../core/json-schema.ts'
import { mergePresets } from './presets.ts'
import { shownSchema, type OwnedDefinition } from './callable.ts'
import type { Attachment } from '../files/index.ts'

export type Preparation =
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
export function prepareCall(definition: OwnedDefinition, given: unknown): Preparation {
  const refuse = (issues: Issue[], dropped: string[] = []): Preparation => ({
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

/** The argument in which an http tool gets its attachments. */
export const attachmentsName = 'attachments'

/** What the gate judges and approvers see: the merged arguments, with the files by id. */
export function withAttachments(merged: JsonObject, attachments: readonly Attachment[] | null): JsonObject {
  return attached(merged, attachments, () => ({}))
}

/** What is sent: the merged arguments, with a link to each file. */
export function withLinks(
  merged: JsonObject,
  attachments: readonly Attachment[] | null,
  linkTo: (fileId: string) => string,
): JsonObject {
  return attached(merged, attachments, (fileId) => ({ url: linkTo(fileId) }))
}

function attached(
  merged: JsonObject,
  attachments: readonly Attachment[] | null,
  more: (fileId: string) => JsonObject,
): JsonObject {
  if (!attachments || attachments.length === 0) return merged
  const list = attachments.map(({ fileId, filename, contentType }) => ({
    file_id: fileId,
    filename,
    content_type: contentType,
    ...more(fileId),
  }))
  return { ...merged, [attachmentsName]: list }
}
