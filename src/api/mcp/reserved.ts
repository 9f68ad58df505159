/** The arguments that belong to the bridge and not to the tool: taken out before anything is validated. */
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { invalidAt } from '../../core/errors.ts'
import { entryNames, reservedIn, type BridgeEntry } from '../../domain/bridge/index.ts'

export interface Sorted {
  /** What the tool gets. */
  own: JsonObject
  idempotencyKey: string | null
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
  refuseAttachments(valueOf(entryNames.attachments))
  return { own, idempotencyKey: key }
}

/** Files are not served yet: a caller that sends some must hear it, and not find them ignored. */
function refuseAttachments(value: unknown): void {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return
  throw invalidAt(
    ['arguments', entryNames.attachments],
    'cannot be resolved: this installation keeps no files',
  )
}
