/** The arguments that belong to the bridge and not to the tool: taken out before anything is validated. */
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { invalidAt } from '../../core/errors.ts'
import type { AttachmentsInput } from '../../domain/files/index.ts'
import { entryNames, reservedIn, type BridgeEntry } from '../../domain/bridge/index.ts'

export interface Sorted {
  /** What the tool gets. */
  own: JsonObject
  idempotencyKey: string | null
  attachments: AttachmentsInput | null
}

const metaPrefix = 'gatehouse/'

/** Sorts the arguments. The same values may stand in `_meta`, for a tool with arguments of these names. */
export function sortArguments(entry: BridgeEntry, given: unknown, meta: object | undefined): Sorted {
  const args = given ?? {}
  if (!isJsonObject(args)) throw invalidAt(['arguments'], 'must be a JSON object')
  const names = reservedIn(entry.inputSchema)
  const own = Object.fromEntries(Object.entries(args).filter(([name]) => !names.includes(name)))
  const valueOf = (name: string) =>
    (names.includes(name) ? args[name] : undefined) ?? (meta as JsonObject | undefined)?.[metaPrefix + name]
  const key = valueOf(entryNames.idempotencyKey) ?? null
  if (key !== null && typeof key !== 'string')
    throw invalidAt(['arguments', entryNames.idempotencyKey], 'must be a string')
  return { own, idempotencyKey: key, attachments: attachmentsOf(valueOf(entryNames.attachments)) }
}

const attachmentShape = ['file_id', 'filename', 'content_type']

/** S1's `[{file_id, filename?, content_type?}]` in our own words. */
function attachmentsOf(value: unknown): AttachmentsInput | null {
  if (value === undefined || value === null) return null
  const path = ['arguments', entryNames.attachments]
  if (!Array.isArray(value)) throw invalidAt(path, 'must be a list')
  return value.map((one: unknown, i) => {
    const at = [...path, String(i)]
    if (!isJsonObject(one) || typeof one['file_id'] !== 'string')
      throw invalidAt([...at, 'file_id'], 'is required')
    const unknown = Object.keys(one).find((name) => !attachmentShape.includes(name))
    if (unknown) throw invalidAt([...at, unknown.slice(0, 80)], 'is not a known property')
    const { file_id: fileId, filename, content_type: contentType } = one
    return { fileId, filename, contentType } as AttachmentsInput[number]
  })
}
