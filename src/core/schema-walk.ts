/**
 * The structure of a JSON Schema: which keywords contain schemas or data, what a local reference means, and how much
 * work it can cause.
 */
import { isJsonObject, type Json, type JsonObject, walkJson } from './json.ts'

/** Keywords whose value maps names to schemas. */
const maps = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])
/** Keywords whose value is data, not a schema. */
const data = new Set(['const', 'enum', 'default', 'examples', 'example'])

/** Whether the value under this keyword maps names to schemas. */
export const isSchemaMap = (keyword: string): boolean => maps.has(keyword)
/** Whether the value under this keyword is data, not a schema. */
export const isSchemaData = (keyword: string): boolean => data.has(keyword)

/** Returns a copy in which `change` has replaced every schema object, innermost first. */
export function mapSchemas(schema: Json, change: (schema: JsonObject) => JsonObject): Json {
  if (Array.isArray(schema)) return schema.map((item) => mapSchemas(item, change))
  if (!isJsonObject(schema)) return schema
  const inner = (value: Json) => mapSchemas(value, change)
  const entries = Object.entries(schema).map(([key, value]): [string, Json] => {
    if (data.has(key)) return [key, value]
    if (maps.has(key) && isJsonObject(value))
      return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]))]
    return [key, inner(value)]
  })
  return change(Object.fromEntries(entries))
}

/** Keywords that describe a schema to people and models, and refuse no value. */
const describing = new Set(['title', 'description', '$comment', 'examples'])

/** The schema without what only describes it. */
export function bareSchema(schema: JsonObject): Json {
  return mapSchemas(schema, (one) =>
    Object.fromEntries(Object.entries(one).filter(([keyword]) => !describing.has(keyword))),
  )
}

/** The local reference of a schema, whichever of the three keywords contains it. */
export function refOf(schema: JsonObject): { keyword: string; ref: string } | null {
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    const ref = schema[keyword]
    if (typeof ref === 'string' && ref.startsWith('#')) return { keyword, ref }
  }
  return null
}

/** The target of a local reference (`#`, `#/pointer`, `#anchor`) in `root`; undefined when there is none. */
export function resolveRef(root: JsonObject, ref: string): Json | undefined {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return findAnchor(root, ref.slice(1))
  let at: Json | undefined = root
  for (const part of pointerParts(ref)) {
    if (Array.isArray(at)) at = at[Number(part)]
    else at = isJsonObject(at) && Object.hasOwn(at, part) ? at[part] : undefined
  }
  return at
}

/** The unescaped parts of a reference that starts with `#/`. */
export function pointerParts(ref: string): string[] {
  return ref
    .slice(2)
    .split('/')
    .map((part) => decoded(part).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function findAnchor(root: JsonObject, name: string): JsonObject | undefined {
  let found: JsonObject | undefined
  mapSchemas(root, (schema) => {
    if (schema['$anchor'] === name || schema['$dynamicAnchor'] === name) found ??= schema
    return schema
  })
  return found
}

/** Estimates how much work a JSON Schema and a value can cause before the value is validated. */
export interface SchemaWeight {
  /**
   * Rules that can apply to one part of a value: each counts once for each path of references that leads to it.
   * Infinity when a path is circular or cannot be followed.
   */
  rules: number
  /** Whether it has regular expressions, whose cost cannot be estimated. */
  patterns: boolean
}

/** Counts the rules of a schema in time linear in its size, also when its references multiply. */
export function weighSchema(schema: JsonObject): SchemaWeight {
  const weight = { rules: 0, patterns: false }
  const known = new Map<unknown, number>()
  const open = new Set<unknown>()
  const weigh = (node: unknown): number => {
    if (typeof node !== 'object' || node === null) return 1
    if (open.has(node)) return Infinity
    const before = known.get(node)
    if (before !== undefined) return before
    open.add(node)
    let rules = 1
    for (const [key, value] of Object.entries(node)) {
      // References below a nested $id are relative to that schema, which `target` does not follow.
      if (key === '$id' && typeof value === 'string' && node !== schema) rules = Infinity
      if (key === 'patternProperties' || (key === 'pattern' && typeof value === 'string'))
        weight.patterns = true
      rules += isReference(key) && typeof value === 'string' ? weigh(target(schema, value)) : weigh(value)
    }
    open.delete(node)
    known.set(node, rules)
    return rules
  }
  weight.rules = weigh(schema)
  return weight
}

const isReference = (key: string) => key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef'

/** What a JSON Pointer (`#/…`) names. For any other reference the schema itself, which counts as circular. */
function target(schema: JsonObject, ref: string): unknown {
  if (!ref.startsWith('#/')) return schema
  let at: unknown = schema
  for (const part of ref.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(at)) at = at[Number(name)]
    else at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : schema
  }
  return at
}

/**
 * The parts of a value: its members and items at every level, and one for each eight characters. Stops above `most`.
 */
export function weighValue(value: unknown, most: number): number {
  let parts = 0
  walkJson(value, (one, _depth, key) => {
    parts += 1
    if (key !== null) parts += 1 + key.length / 8
    if (typeof one === 'string') parts += one.length / 8
    else if (Array.isArray(one)) parts += one.length
    return parts <= most
  })
  return parts
}
