/** Separates the bridge's reserved arguments from the tool's own, before anything is validated. Pure. */
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { invalidAt } from '../../../core/errors.ts'
import type { AttachmentsInput } from '../../../domain/files/index.ts'
import { reservedArguments, reservedNames, type BridgeEntry } from '../../../domain/bridge/index.ts'

export interface ToolArguments {
  /** What the tool receives. */
  toolArguments: JsonObject
  idempotencyKey: string | null
  attachments: AttachmentsInput | null
}

const metaPrefix = 'gatehouse/'

/**
 * Splits the arguments of a tools/call. `_meta` may carry the reserved values too, under `gatehouse/`, for a tool that
 * has arguments of the same names. Throws INVALID.
 */
export function splitArguments(entry: BridgeEntry, given: unknown, meta: object | undefined): ToolArguments {
  const args = given ?? {}
  if (!isJsonObject(args)) throw invalidAt(['arguments'], 'must be a JSON object')
  const reserved = reservedArguments(entry.inputSchema)
  const toolArguments = Object.fromEntries(Object.entries(args).filter(([name]) => !reserved.includes(name)))
  const valueOf = (name: string) =>
    (reserved.includes(name) ? args[name] : undefined) ??
    (meta as JsonObject | undefined)?.[metaPrefix + name]
  const key = valueOf(reservedNames.idempotencyKey) ?? null
  if (key !== null && typeof key !== 'string')
    throw invalidAt(['arguments', reservedNames.idempotencyKey], 'must be a string')
  const attachments = attachmentsOf(valueOf(reservedNames.attachments))
  return { toolArguments, idempotencyKey: key, attachments }
}

const attachmentProperties = ['file_id', 'filename', 'content_type']

/** Converts `[{file_id, filename?, content_type?}]` to the input of the files module. */
function attachmentsOf(value: unknown): AttachmentsInput | null {
  if (value === undefined || value === null) return null
  const path = ['arguments', reservedNames.attachments]
  if (!Array.isArray(value)) throw invalidAt(path, 'must be a list')
  return value.map((one: unknown, i) => {
    const itemPath = [...path, String(i)]
    if (!isJsonObject(one) || typeof one['file_id'] !== 'string')
      throw invalidAt([...itemPath, 'file_id'], 'is required')
    const unknown = Object.keys(one).find((name) => !attachmentProperties.includes(name))
    if (unknown) throw invalidAt([...itemPath, unknown.slice(0, 80)], 'is not a known property')
    const { file_id: fileId, filename, content_type: contentType } = one
    return { fileId, filename, contentType } as AttachmentsInput[number]
  })
}
