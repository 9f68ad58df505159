/**
 * The fetch of provider packages, which write and read JSON natively: requests and responses keep their digits, and
 * members that packages would refuse are made readable.
 */
import {
  isJsonObject,
  tryParseJson,
  walkJson,
  writeJson,
  type Json,
  type JsonObject,
  unpackText,
  packingStream,
} from '../../../core/json.ts'

/** A key before an object; in a text the quotes would be escaped. */
const mayBeObject = /^(data: ?)(.*"(?:arguments|delta)":\s*\{.*)$/s

/** A line of an event with the arguments of its calls as texts; any other line unchanged. */
function readableArguments(line: string): string {
  const [, name, data] = mayBeObject.exec(line) ?? []
  const frame = data === undefined ? null : tryParseJson(data)
  if (!isJsonObject(frame)) return line
  let isChanged = false
  const change = (holder: Record<string, unknown>, key: string) => {
    if (!isJsonObject(holder[key])) return
    holder[key] = writeJson(holder[key])
    isChanged = true
  }
  if (frame['type'] === 'response.function_call_arguments.delta') change(frame, 'delta')
  if (frame['type'] === 'response.function_call_arguments.done') change(frame, 'arguments')
  walkJson(frame, (value, _depth, key) => {
    // What they have inside is text by the time that it would be visited.
    if (isJsonObject(value) && (key === 'function' || value['type'] === 'function_call'))
      change(value, 'arguments')
    return true
  })
  return isChanged ? `${name}${writeJson(frame)}\n` : line
}

/** More tokens than any response has: a larger count is a mistake of the server. */
const mostTokens = 1_000_000_000

/** The count if it is whole and possible, also one that was sent as a text; else null: it is not known. */
export function tokenCount(given: unknown): number | null {
  const count = typeof given === 'string' && /^\d{1,10}$/.test(given) ? Number(given) : given
  return typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= mostTokens
    ? count
    : null
}

/** A line of an event with counts that the packages accept; any other line, and any that has only such counts, unchanged. */
function readableCounts(line: string): string {
  const [, name, data] = mayCount.exec(line) ?? []
  const frame = data === undefined ? null : tryParseJson(data)
  if (!isJsonObject(frame)) return line
  let isChanged = false
  const change = (holder: Json | undefined, key: string, required: readonly string[], isAlways = false) => {
    if (!isJsonObject(holder) || (holder[key] == null && !isAlways)) return
    const counts = countsOf(holder[key], required)
    if (writeJson(counts) === writeJson(holder[key])) return
    isChanged = true
    holder[key] = counts
  }
  const { type } = frame
  change(frame, 'usageMetadata', [])
  change(frame['response'], 'usage', ['input_tokens', 'output_tokens'])
  change(frame['message'], 'usage', ['input_tokens'], type === 'message_start')
  change(frame, 'usage', type === 'message_delta' ? ['output_tokens'] : [], type === 'message_delta')
  return isChanged ? `${name}${writeJson(frame)}\n` : line
}

const mayCount = /^(data: ?)(.*"(?:usage|usageMetadata|message_start|message_delta)".*)$/s

/** The counts without those that are not known; those that a package requires are 0 then, which counts as not known. */
function countsOf(given: Json | undefined, required: readonly string[]): JsonObject {
  const known = isJsonObject(given) ? knownCounts(given) : {}
  for (const key of required) known[key] ??= 0
  return known
}

function knownCounts(given: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, value]): [string, Json][] => {
      if (isJsonObject(value) && /details$/i.test(key)) return [[key, knownCounts(value)]]
      if (value === null || !/(tokens|count)$/i.test(key)) return [[key, value]]
      const count = tokenCount(value)
      return count === null ? [] : [[key, count]]
    }),
  )
}

const readable = (line: string): string => readableArguments(readableCounts(line))

/**
 * Completes the JSON that a package made of `packed` values, packs what it reads, and gives it counts of tokens that it
 * accepts. `AnswerParts` unpacks: a text may come in pieces that have half a character each.
 */
export function exactFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const body = typeof init?.body === 'string' ? { body: unpackText(init.body) } : {}
    const response = await fetch(input, { ...init, ...body })
    if (!response.body || !response.ok) return response
    const isEvents = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    const { status, statusText, headers } = response
    const stream = response.body.pipeThrough(packingStream({ isEvents, keepsText: true, change: readable }))
    return new Response(stream, { status, statusText, headers })
  }
}
