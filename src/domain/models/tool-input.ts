/** Parses the arguments of a call as a model wrote them, with three repairs that cannot change the meaning. */
import { isJsonObject, tryParseJson, type JsonObject } from '../../core/json.ts'

const fence = /^```[a-z]*\s*([\s\S]*?)\s*```$/i
const trailingFence = /\s*```\s*$/

/**
 * The arguments as an object; null when the text is not one. Repairs: empty text is `{}`, an object inside a JSON
 * string is unwrapped, a code fence around or after the object is removed. Anything else is an error for the model,
 * which tries again.
 */
export function readCallInput(text: string): JsonObject | null {
  const trimmed = text.trim()
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
