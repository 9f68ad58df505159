/**
 * Repairs the JSON Schemas of foreign servers, so that a tool is usable whose schema breaks a rule: what has no meaning is
 * taken out, what has one in an old draft or another language is rewritten. The server itself still checks what it gets. Pure.
 */
import { localRefs } from '../../../core/schema-refs.ts'
import { mapSchemas, resolveRef } from '../../../core/schema-walk.ts'
import {
  type JsonObject,
  type Json,
  canonicalJson,
  isJsonNumber,
  isJsonObject,
  writeJson,
} from '../../../core/json.ts'
import { compilerFor } from '../../../core/schema-compiler.ts'

/**
 * The same pattern in this dialect; undefined when it has no equal one, such as with inline flags. `(?i)` is not written as both
 * cases of each letter: which letters are equal differs by language and locale, and a pattern that refuses what the server takes
 * is worse than none.
 */
function repairedPattern(pattern: string): string | undefined {
  if (isPattern(pattern)) return pattern
  const made = rewritten(pattern)
  return isPattern(made) ? made : undefined
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').source !== ''
  } catch {
    return false
  }
}

/** A pair of a backslash and a character, the bounds of a class, a quantifier, or one character. */
const tokens = /\\(?:[pPuk]\{[^}]*\}|[\s\S])|\(\?P<|\(\?[^:=!<]|[[\]]|\{\d+(?:,\d*)?\}|[\s\S]/gu
const escaped = /^\\[\^$\\.*+?()[\]{}|/]$/

/** Takes away escapes that mean nothing, adds those that are missing, and writes the names of Python and Perl as here. */
function rewritten(pattern: string): string {
  const parts = pattern.match(tokens) ?? []
  let inClass = false
  return parts
    .map((part, i) => {
      if (part === '[' && !inClass) return ((inClass = true), part)
      if (part === ']' && inClass) return ((inClass = false), part)
      if (part === '(?P<') return inClass ? '(?P<' : '(?<'
      if (part === '\\A') return '^'
      if (part === '\\Z' || part === '\\z') return '$'
      if (part === '\\-') return inClass ? part : '-'
      if (/^\\[^a-zA-Z0-9]$/u.test(part)) return escaped.test(part) ? part : part.slice(1)
      if (inClass) return part === '-' && isOfSets(parts, i) ? '\\-' : part === '[' ? '\\[' : part
      return part === '{' || part === '}' || part === ']' ? `\\${part}` : part
    })
    .join('')
}

/** Whether a hyphen is next to a set such as `\w`: then it is no range. */
function isOfSets(parts: string[], at: number): boolean {
  const isSet = (part: string | undefined) => part !== undefined && /^\\[dDsSwWpP]/.test(part)
  return isSet(parts[at - 1]) || isSet(parts[at + 1])
}

/**
 * The schema with local references alone (see `localRefs`). A bare name means the definition of this name; what leads nowhere is
 * taken out, so that it allows everything. `changed` is called for each.
 */
function repairedRefs(root: JsonObject, changed: () => void): JsonObject {
  const own = localRefs(root, changed)
  return mapSchemas(own, (schema) => {
    const { $ref: ref, ...rest } = schema
    if (typeof ref !== 'string' || resolveRef(own, ref) !== undefined) return schema
    changed()
    return rest
  }) as JsonObject
}

const types: Record<string, string> = Object.fromEntries(
  Object.entries({
    string:
      'str text char varchar date datetime date-time time timestamp duration uuid guid url uri email file path binary bytes base64 enum',
    integer: 'int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 long short bigint byte',
    number: 'float float32 float64 double decimal numeric num real',
    boolean: 'bool',
    object: 'dict dictionary map hash struct record json',
    array: 'list tuple set sequence vector',
    null: 'none nil undefined void',
  }).flatMap(([type, names]) => [type, ...names.split(' ')].map((name) => [name, type])),
)

/** The type that a word means; undefined for `any` and for words of no meaning. */
function typeOf(word: string): string | undefined {
  const name = word.trim().toLowerCase()
  return Object.hasOwn(types, name) ? types[name] : undefined
}

/** The value of `type`; undefined when it allows every type. A null in a list is the type null. */
function repairedTypes(value: Json): Json | undefined {
  if (typeof value === 'string') return typeOf(value)
  if (!Array.isArray(value)) return undefined
  const made = value.map((one) => (one === null ? 'null' : typeof one === 'string' ? typeOf(one) : undefined))
  if (made.length === 0 || made.includes(undefined)) return undefined
  return [...new Set(made as string[])]
}

export interface RepairedSchema {
  schema: JsonObject
  /** The keywords that were changed, each once. */
  changed: string[]
}

interface Repair {
  /** Whether lists of `items` are written as `prefixItems`, as 2020-12 has it. */
  usesPrefixItems: boolean
  changed: Set<string>
}

/** A valid schema stays as it is. The caller has bounded the depth. */
export function repairSchema(given: JsonObject): RepairedSchema {
  const { $schema: declared, ...rest } = given
  const isKnown = typeof declared === 'string' && compilerFor(declared) !== undefined
  const usesPrefixItems = !isKnown || declared.includes('2020-12')
  const repair: Repair = { usesPrefixItems, changed: new Set() }
  if (!isKnown && declared !== undefined) repair.changed.add('$schema')
  const own = schemaOf(isKnown ? given : rest, repair) as JsonObject
  const schema = repairedRefs(own, () => repair.changed.add('$ref'))
  return { schema, changed: [...repair.changed] }
}

/** What keywords hold, by kind. A value of another kind is taken out. */
const kinds: Record<string, (value: Json, repair: Repair) => Json | undefined> = {
  ...each('title description $comment format $ref $anchor contentMediaType contentEncoding', textOf),
  ...each('uniqueItems readOnly writeOnly deprecated nullable', (value) =>
    typeof value === 'boolean' ? value : undefined,
  ),
  ...each('minimum maximum', numberOf),
  ...each(
    'minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains',
    countOf,
  ),
  ...each('not if then else propertyNames contains additionalProperties additionalItems', schemaOf),
  ...each('unevaluatedProperties unevaluatedItems contentSchema', schemaOf),
  ...each('allOf anyOf oneOf prefixItems', schemasOf),
  ...each('properties $defs definitions dependentSchemas', mapOf),
  patternProperties: mapOf,
  items: (value, repair) => (Array.isArray(value) ? schemasOf(value, repair) : schemaOf(value, repair)),
  multipleOf: (value) => {
    const number = numberOf(value)
    return typeof number === 'number' && number <= 0 ? undefined : number
  },
  exclusiveMinimum: (value) => (typeof value === 'boolean' ? value : numberOf(value)),
  exclusiveMaximum: (value) => (typeof value === 'boolean' ? value : numberOf(value)),
  required: (value) => (typeof value === 'boolean' ? value : namesOf(value)),
  dependentRequired: (value) =>
    isJsonObject(value) ? mapped(value, (names) => namesOf(names) ?? []) : undefined,
  dependencies: (value, repair) =>
    isJsonObject(value)
      ? mapped(value, (one) => (Array.isArray(one) ? namesOf(one)! : schemaOf(one, repair)))
      : undefined,
  enum: (value) => (Array.isArray(value) && value.length > 0 ? distinct(value) : undefined),
  examples: (value) => (Array.isArray(value) ? value : undefined),
  pattern: (value) => (typeof value === 'string' ? repairedPattern(value) : undefined),
  type: (value) => repairedTypes(value),
  // A schema that names itself asynchronous is judged later, by nobody.
  $async: () => undefined,
  'x-mcp-header': (value) => value ?? undefined,
}

const holders = new Set(
  Object.entries(kinds).flatMap(([word, read]) =>
    [schemaOf, schemasOf, mapOf].includes(read as typeof schemaOf) ? [word] : [],
  ),
)
  .add('items')
  .add('dependencies')

function each(words: string, read: (value: Json, repair: Repair) => Json | undefined): typeof kinds {
  return Object.fromEntries(words.split(' ').map((word) => [word, read]))
}

/** A schema in the place of any value: the name of a type means this type, everything else allows all. */
function schemaOf(value: Json, repair: Repair): Json {
  if (typeof value === 'boolean') return value
  if (!isJsonObject(value)) {
    repair.changed.add('schema')
    const type = typeof value === 'string' ? typeOf(value) : undefined
    return type ? { type } : {}
  }
  const made: [string, Json][] = []
  for (const [key, one] of Object.entries(value)) {
    const read = Object.hasOwn(kinds, key) ? kinds[key] : undefined
    const kept = read ? read(one, repair) : one
    if (kept !== undefined) made.push([key, kept])
    // What is wrong inside another schema is named by its own keyword.
    const isWhole = kept === undefined || !holders.has(key)
    if (read && isWhole && !same(kept, one)) repair.changed.add(key)
  }
  return ofOldDrafts(Object.fromEntries(made), repair)
}

const same = (a: Json | undefined, b: Json) =>
  a === b || (a !== undefined && canonicalJson(a) === canonicalJson(b))

/** Rewrites what drafts before 06 say otherwise, and what needs another keyword beside it. */
function ofOldDrafts(schema: JsonObject, repair: Repair): JsonObject {
  const change = (key: string) => void (delete schema[key], repair.changed.add(key))
  for (const side of ['Minimum', 'Maximum'] as const) {
    const exclusive = `exclusive${side}`
    if (typeof schema[exclusive] !== 'boolean') continue
    const bound = schema[side.toLowerCase()]
    const isExclusive = schema[exclusive] && bound !== undefined
    change(exclusive)
    if (!isExclusive) continue
    schema[exclusive] = bound
    delete schema[side.toLowerCase()]
  }
  const { id, items, nullable, type } = schema
  if (typeof id === 'string') {
    change('id')
    const place = id.startsWith('#') ? '$anchor' : '$id'
    if (schema[place] === undefined) schema[place] = id.replace(/^#/, '')
  }
  if (Array.isArray(items) && (repair.usesPrefixItems || items.length === 0)) {
    change('items')
    const { additionalItems: rest } = schema
    delete schema['additionalItems']
    if (items.length > 0) schema['prefixItems'] = items
    if (rest !== undefined) schema['items'] = rest
  }
  if (nullable !== undefined && type === undefined) change('nullable')
  withRequired(schema, change)
  return withPatterns(schema, change)
}

/** `required: true` beside the type of a property, as draft 03 has it. */
function withRequired(schema: JsonObject, change: (key: string) => void): void {
  const { properties } = schema
  if (typeof schema['required'] === 'boolean' && !isJsonObject(properties)) return
  if (typeof schema['required'] === 'boolean') change('required')
  if (!isJsonObject(properties)) return
  const flagged = Object.entries(properties).filter(
    ([, one]) => isJsonObject(one) && typeof one['required'] === 'boolean',
  )
  if (flagged.length === 0) return
  const names = flagged.filter(([, one]) => (one as JsonObject)['required'] === true).map(([name]) => name)
  for (const [, one] of flagged) delete (one as JsonObject)['required']
  const known = Array.isArray(schema['required']) ? schema['required'] : []
  change('required')
  const all = distinct([...known, ...names])
  if (all.length > 0) schema['required'] = all
}

function withPatterns(schema: JsonObject, change: (key: string) => void): JsonObject {
  const { patternProperties: given } = schema
  if (!isJsonObject(given)) return schema
  const made = Object.entries(given).map(
    ([pattern, one]) => [repairedPattern(pattern), one, pattern] as const,
  )
  if (made.every(([pattern, , before]) => pattern === before)) return schema
  change('patternProperties')
  schema['patternProperties'] = Object.fromEntries(
    made.flatMap(([pattern, one]): [string, Json][] => {
      if (pattern !== undefined) return [[pattern, one]]
      // Which members it would mask cannot be told: all are.
      return writeJson(one).includes('"writeOnly":true') ? [['', { writeOnly: true }]] : []
    }),
  )
  // Names that a lost pattern allowed are allowed still.
  if (made.some(([pattern]) => pattern === undefined))
    for (const key of ['additionalProperties', 'unevaluatedProperties']) delete schema[key]
  return schema
}

function schemasOf(value: Json, repair: Repair): Json | undefined {
  if (!Array.isArray(value)) return undefined
  return value.length > 0 ? value.map((one) => schemaOf(one, repair)) : undefined
}

function mapOf(value: Json, repair: Repair): Json | undefined {
  return isJsonObject(value) ? mapped(value, (one) => schemaOf(one, repair)) : undefined
}

function mapped(value: JsonObject, change: (one: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)]))
}

function textOf(value: Json): Json | undefined {
  return typeof value === 'string' ? value : undefined
}

function namesOf(value: Json): Json[] | undefined {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? distinct(value.filter((one) => typeof one === 'string')) : undefined
}

function numberOf(value: Json): Json | undefined {
  if (isJsonNumber(value)) return value
  return typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,9})?$/.test(value) ? Number(value) : undefined
}

function countOf(value: Json): Json | undefined {
  const number = numberOf(value)
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined
}

function distinct(values: Json[]): Json[] {
  return [...new Map(values.map((value) => [canonicalJson(value), value])).values()]
}
