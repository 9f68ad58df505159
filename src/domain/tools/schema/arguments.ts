/** What a schema of arguments says of their names, and of presets among them. Pure. */
import { asText, isJsonObject, type Json, type JsonObject, canonicalJson } from '../../../core/json.ts'
import { refOf, resolveRef } from '../../../core/schema-walk.ts'
import { judge } from '../../../core/json-schema.ts'
import { selfContained } from '../../../core/schema-refs.ts'

/** The same rule for all other names. A list without other names becomes `false`: no name is allowed. */
function withoutNames(schema: Json, names: string[], root: JsonObject, trail: string[] = []): Json {
  if (!isJsonObject(schema)) return schema
  const { enum: list, const: only, pattern } = schema
  if (typeof only === 'string' && names.includes(only)) return false
  const out: JsonObject = { ...schema }
  for (const keyword of ['default', 'example', 'examples']) delete out[keyword]
  // A pattern cannot be rewritten. One that contains the name is dropped: the full schema is checked as well.
  if (typeof pattern === 'string' && names.some((name) => pattern.includes(name))) delete out['pattern']
  if (Array.isArray(list)) {
    const others = list.filter((name) => !names.includes(asText(name)))
    if (others.length === 0) return false
    out['enum'] = others
  }
  const inner = (part: Json) => withoutNames(part, names, root, trail)
  for (const keyword of ['allOf', 'anyOf', 'oneOf'])
    if (Array.isArray(out[keyword])) out[keyword] = out[keyword].map(inner)
  for (const keyword of ['not', 'if', 'then', 'else'])
    if (out[keyword] !== undefined) out[keyword] = inner(out[keyword])
  return withTarget(out, names, root, trail)
}

function withTarget(schema: JsonObject, names: string[], root: JsonObject, trail: string[]): Json {
  const found = refOf(schema)
  const target = found && resolveRef(root, found.ref)
  if (!found || target === undefined || target === null) return schema
  const { [found.keyword]: _ref, ...rest } = schema
  if (trail.includes(found.ref)) return rest
  const meant = withoutNames(target, names, root, [...trail, found.ref])
  const all = Array.isArray(rest['allOf']) ? rest['allOf'] : []
  return { ...rest, allOf: [...all, meant] }
}

/** The whole schema, its presets, and whose budget judgements use. */
export interface PresetScope {
  root: JsonObject
  presets: JsonObject
  projectId: string
}

/** Whether this schema allows the values of the presets. In doubt, it does. */
export function acceptsPresets(schema: JsonObject, scope: PresetScope): boolean {
  const whole = wholeValues(schema)
  const { presets } = scope
  if (whole && !whole.some((value) => agrees(value, presets))) return false
  const { propertyNames: names } = schema
  return Object.entries(presets).every(
    ([key, value]) =>
      schemasOf(schema, key).every((part) => satisfies(part, value, scope)) &&
      (names === undefined || satisfies(names, key, scope)),
  )
}

/** A copy without the keys of presets: in properties, required names and examples. */
export function withoutPresets(schema: JsonObject, presets: JsonObject, root: JsonObject): JsonObject {
  const keys = Object.keys(presets)
  const out = { ...schema }
  const { properties, patternProperties, required, propertyNames, discriminator } = schema
  if (isJsonObject(properties)) out['properties'] = without(properties, keys)
  if (isJsonObject(patternProperties)) {
    const named = Object.keys(patternProperties).filter((pattern) =>
      keys.some((key) => isAbout(pattern, key)),
    )
    out['patternProperties'] = without(patternProperties, named)
  }
  if (Array.isArray(required)) out['required'] = required.filter((name) => !keys.includes(asText(name)))
  if (propertyNames !== undefined) out['propertyNames'] = withoutNames(propertyNames, keys, root)
  if (isJsonObject(discriminator) && keys.includes(asText(discriminator['propertyName'])))
    delete out['discriminator']
  return withoutKeysInData(out, presets)
}

function withoutKeysInData(schema: JsonObject, presets: JsonObject): JsonObject {
  const keys = Object.keys(presets)
  const strip = (value: Json) => (isJsonObject(value) ? without(value, keys) : value)
  const out = { ...schema }
  for (const key of ['default', 'example', 'const']) if (out[key] !== undefined) out[key] = strip(out[key])
  if (Array.isArray(out['examples'])) out['examples'] = distinct(out['examples'].map(strip))
  if (Array.isArray(out['enum'])) {
    const agreeing = out['enum'].filter((value) => agrees(value, presets))
    out['enum'] = distinct((agreeing.length > 0 ? agreeing : out['enum']).map(strip))
  }
  return out
}

function wholeValues(schema: JsonObject): Json[] | null {
  if (schema['const'] !== undefined) return [schema['const']]
  return Array.isArray(schema['enum']) ? schema['enum'] : null
}

function agrees(value: Json, presets: JsonObject): boolean {
  return (
    isJsonObject(value) &&
    Object.entries(presets).every(
      ([key, preset]) => Object.hasOwn(value, key) && canonicalJson(value[key]) === canonicalJson(preset),
    )
  )
}

/** The schemas that apply to the property `key`. */
function schemasOf(schema: JsonObject, key: string): Json[] {
  const { properties, patternProperties, additionalProperties } = schema
  const found: Json[] = []
  if (isJsonObject(properties) && Object.hasOwn(properties, key)) found.push(properties[key]!)
  if (isJsonObject(patternProperties))
    for (const [pattern, part] of Object.entries(patternProperties))
      if (matches(pattern, key)) found.push(part)
  return found.length === 0 && additionalProperties !== undefined ? [additionalProperties] : found
}

function satisfies(schema: Json, value: Json, { root, projectId }: PresetScope): boolean {
  if (!isJsonObject(schema)) return schema !== false
  const alone = selfContained({ allOf: [schema] }, root)
  const whole = root['$schema'] === undefined ? alone : { ...alone, $schema: root['$schema'] }
  return judge(whole, projectId, value).fits !== 'NO'
}

/**
 * Whether a pattern means only this name (or a closed list with it), and not a family of names that the caller may
 * still use: a family also matches the name with one more letter or digit.
 */
function isAbout(pattern: string, key: string): boolean {
  return matches(pattern, key) && ![`${key}x`, `${key}0`, `x${key}`].some((other) => matches(pattern, other))
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(key)
  } catch {
    return false
  }
}

function without(object: JsonObject, keys: string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

function distinct(values: Json[]): Json[] {
  return [...new Map(values.map((value) => [canonicalJson(value), value])).values()]
}

/** Keywords whose schemas apply to the same object. */
const combining = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else']

/** Whether the schema, or one that it combines or refers to, names this argument. */
export function namesArgument(schema: JsonObject, name: string): boolean {
  for (const { properties, required } of schemasOfArguments(schema)) {
    if (isJsonObject(properties) && Object.hasOwn(properties, name)) return true
    if (Array.isArray(required) && required.includes(name)) return true
  }
  return false
}

/** The arguments that the schema, or one that it combines or refers to, describes. */
export function argumentNames(schema: JsonObject): string[] {
  const names = [...schemasOfArguments(schema)].flatMap(({ properties }) =>
    isJsonObject(properties) ? Object.keys(properties) : [],
  )
  return [...new Set(names)]
}

/** The schemas that apply to the arguments as a whole. */
function* schemasOfArguments(schema: JsonObject): Generator<JsonObject> {
  const seen = new Set<Json>()
  const stack: (Json | undefined)[] = [schema]
  while (stack.length > 0) {
    const here = stack.pop()
    if (Array.isArray(here)) stack.push(...here)
    if (!isJsonObject(here) || seen.has(here)) continue
    seen.add(here)
    yield here
    const { dependentSchemas } = here
    if (isJsonObject(dependentSchemas)) stack.push(...Object.values(dependentSchemas))
    for (const keyword of combining) stack.push(here[keyword])
    const found = refOf(here)
    if (found) stack.push(resolveRef(schema, found.ref))
  }
}
