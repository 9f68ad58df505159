/** Reading the arguments of a call as a model wrote them, with the three small repairs that cannot change a meaning. */
import { isJsonObject, tryParseJson, type JsonObject } from '../../../core/json.ts'

const fence = /^```[a-z]*\s*([\s\S]*?)\s*```$/i
const trailingFence = /\s*```\s*$/

/**
 * The arguments as an object, or null when the text is none. An empty text is `{}`, an object wrapped in a JSON string
 * is unwrapped, and a code fence around or behind the object is taken off. Nothing else is repaired: the model gets an
 * error and tries again.
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
