/**
 * Token counts as providers send them, before the packages check them: a package refuses a whole response for a count that is
 * no number, after it was paid for.
 */
import { isJsonObject, type Json, type JsonObject, tryParseJson, writeJson } from '../../../core/json.ts'

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
export function readableCounts(line: string): string {
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
