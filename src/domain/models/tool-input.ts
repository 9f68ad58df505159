/** Parses the arguments of a call as a model wrote them, with four repairs that cannot change the meaning. */
import { isJsonObject, tryParseJson, type JsonObject } from '../../core/json.ts'

const fence = /^```[a-z]*\s*([\s\S]*?)\s*```$/i
const trailingFence = /\s*```\s*$/
const trailingTokens = /(?:<\|[\w-]{1,40}\|>\s*)+$/
/** How much of the end may be tokens, in UTF-16 code units: the pattern takes the square of it. */
const tail = 400

/**
 * The arguments as an object; null when the text is not one. Repairs: empty text is `{}`, an object inside a JSON
 * string is unwrapped, a code fence around or after the object is removed, as are tokens such as `<|call|>` behind it. Anything else is an error for the model,
 * which tries again.
 */
export function readCallInput(text: string): JsonObject | null {
  const trimmed = withoutTokens(text.trim())
  if (trimmed === '') return {}
  for (const candidate of [trimmed, fence.exec(trimmed)?.[1], trimmed.replace(trailingFence, '')]) {
    if (candidate === undefined) continue
    const value = tryParseJson(candidate)
    if (isJsonObject(value)) return value
    const inner = typeof value === 'string' ? tryParseJson(value) : undefined
    if (isJsonObject(inner)) return inner
  }
  return null
}

function withoutTokens(text: string): string {
  if (!text.endsWith('|>')) return text
  return text.slice(0, -tail) + text.slice(-tail).replace(trailingTokens, '')
}
