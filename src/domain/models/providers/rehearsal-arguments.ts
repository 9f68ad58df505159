/**
 * Derives arguments for a tool from the words of a message and the tool's schema: `key=value`, quoted text, then
 * defaults.
 */
import { exactNumber, isJsonObject, type Json, type JsonObject, tryParseJson } from '../../../core/json.ts'

interface Words {
  pairs: Map<string, string>
  /** Quoted texts without a key, in order; consumed from the front. */
  quoted: string[]
  text: string
}

const pairPattern = /(?<![\w-])([a-zA-Z_][\w-]*)=(?:"([^"]*)"|'([^']*)'|([^\s,;]+?)(?=[.!?]?(?:[\s,;]|$)))/g
const quotePattern = /"([^"]+)"|(?<![\w])'([^']+)'(?![\w])/g
const deepest = 4

/**
 * Arguments that fit the schema where the words allow it. Values are converted to the property's type; quoted texts
 * fill string properties in order; a required property without a value gets its default, else `fallback` (strings) or
 * the simplest value of its type.
 */
export function argumentsFrom(text: string, schema: JsonObject, fallback: string = text): JsonObject {
  const pairs = new Map<string, string>()
  const rest = text.replace(pairPattern, (_, key: string, ...values: (string | undefined)[]) => {
    pairs.set(key, values.slice(0, 3).find((value) => value !== undefined) ?? '')
    return ' '
  })
  const quoted = [...rest.matchAll(quotePattern)].map((match) => match[1] ?? match[2]!)
  return objectFrom(schema, { pairs, quoted, text: fallback }, 0)
}

function objectFrom(schema: JsonObject, words: Words, depth: number): JsonObject {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const found: JsonObject = {}
  for (const [key, property] of Object.entries(properties)) {
    const rules = isJsonObject(property) ? property : {}
    const value =
      mentioned(key, rules, words) ?? (required.includes(key) ? plainest(rules, words, depth) : undefined)
    if (value !== undefined) found[key] = value
  }
  // A schema without properties takes every pair of the message.
  if (Object.keys(properties).length === 0)
    for (const [key, value] of words.pairs) found[key] = tryParseJson(value) ?? value
  return found
}

function mentioned(key: string, rules: JsonObject, words: Words): Json | undefined {
  const written = words.pairs.get(key)
  if (written !== undefined) return coerced(written, rules)
  if (Array.isArray(rules['enum'])) {
    const said = words.text.toLowerCase()
    return rules['enum'].find((value) => typeof value === 'string' && said.includes(value.toLowerCase()))
  }
  return typeOf(rules) === 'string' ? words.quoted.shift() : undefined
}

/** The text converted to the property's type. Text that does not fit stays text, so that validation reports it. */
function coerced(written: string, rules: JsonObject): Json {
  const type = typeOf(rules)
  if (type === 'string') return written
  const json = tryParseJson(written)
  if (type === 'boolean') {
    const said = written.toLowerCase()
    if (['true', 'yes', 'on', '1'].includes(said)) return true
    return ['false', 'no', 'off', '0'].includes(said) ? false : written
  }
  if (type === 'array') {
    const items = isJsonObject(rules['items']) ? rules['items'] : { type: 'string' }
    return Array.isArray(json) ? json : written.split('|').map((item) => coerced(item, items))
  }
  return json ?? written
}

function plainest(rules: JsonObject, words: Words, depth: number): Json {
  if (rules['default'] !== undefined) return rules['default']
  if (rules['const'] !== undefined) return rules['const']
  if (Array.isArray(rules['enum'])) return rules['enum'][0] ?? null
  switch (typeOf(rules)) {
    case 'string':
      return words.text.trim().slice(0, typeof rules['maxLength'] === 'number' ? rules['maxLength'] : 500)
    case 'integer':
    case 'number':
      return numberIn(words.text) ?? (typeof rules['minimum'] === 'number' ? rules['minimum'] : 0)
    case 'boolean':
      return false
    case 'array':
      return []
    case 'object':
      return depth < deepest ? objectFrom(rules, { ...words, pairs: new Map() }, depth + 1) : {}
    default:
      return null
  }
}

function numberIn(text: string): Json | undefined {
  const match = /(?<![\w.])-?\d+(\.\d+)?(?![\w])/.exec(text)
  return match ? (exactNumber(match[0]) ?? undefined) : undefined
}

/** The first type that is not null. Without a type it is derived from the schema's keywords; text by default. */
function typeOf(rules: JsonObject): string {
  const { type } = rules
  if (Array.isArray(type)) return String(type.find((one) => one !== 'null') ?? 'null')
  if (typeof type === 'string') return type
  return isJsonObject(rules['properties']) ? 'object' : 'string'
}
