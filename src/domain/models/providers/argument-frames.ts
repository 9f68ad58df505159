/**
 * Arguments of calls as some servers send them: an object where the wire has its text (llama.cpp and other compatible servers).
 * A package refuses the whole response for that, after it was paid for.
 */
import { isJsonObject, tryParseJson, walkJson, writeJson } from '../../../core/json.ts'

/** A key before an object; in a text the quotes would be escaped. */
const mayBeObject = /^(data: ?)(.*"(?:arguments|delta)":\s*\{.*)$/s

/** A line of an event with the arguments of its calls as texts; any other line unchanged. */
export function readableArguments(line: string): string {
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
