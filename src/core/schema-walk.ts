/**
 * The structure of a JSON Schema: which keywords contain schemas, which contain data, and what a local reference means.
 */
import { isJsonObject, type Json, type JsonObject } from './json.ts'

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
