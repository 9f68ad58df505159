/**
 * A schema that every provider takes: they refuse names of properties (Anthropic), arrays without items and lists of items
 * (OpenAI, Gemini), regular expressions that are not regular, `oneOf`, `allOf`, required names without a property and lists of
 * values of several types (Gemini). What is left out only makes the schema allow more. Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'
import { mapSchemas } from '../../../core/schema-walk.ts'
import type { Names } from './argument-names.ts'
import { typedValues } from './typed-values.ts'

/** Keywords that no provider needs and some refuse. */
const dropped = new Set(
  '$schema $id $anchor $dynamicAnchor $recursiveAnchor $comment additionalItems unevaluatedItems prefixItems dependencies dependentRequired dependentSchemas'.split(
    ' ',
  ),
)
/** Classes of Unicode, looking around, groups with names, and references to groups. */
const irregular = /\\[pP]\{|\(\?(?!:)|\\[1-9]|\\k</

/** The schema with these names and without what a provider refuses. The root has been made an object. */
export function plainSchema(root: JsonObject, names: Names): JsonObject {
  return mapSchemas(root, (schema) => {
    const kept = Object.fromEntries(Object.entries(schema).filter(([key]) => !dropped.has(key)))
    const made = anyOfThem(inOne(kept))
    const { pattern, patternProperties, properties } = made
    if (typeof pattern === 'string' && irregular.test(pattern)) delete made['pattern']
    if (isJsonObject(patternProperties)) {
      made['patternProperties'] = membersOf(patternProperties, (name) => (irregular.test(name) ? [] : [name]))
      if (Object.keys(patternProperties).some((name) => irregular.test(name)))
        delete made['additionalProperties']
    }
    if (isJsonObject(properties))
      made['properties'] = membersOf(properties, (name) => [names.get(name) ?? name])
    return typedValues(withItems(withRequired(made, names), schema))
  }) as JsonObject
}

/** Without `allOf`: its schemas in one. Of a keyword that several have, the first counts, but for members. */
function inOne({ allOf, ...own }: JsonObject): JsonObject {
  const parts = Array.isArray(allOf) ? allOf.filter(isJsonObject) : []
  return parts.reduce((sum, part) => {
    const made = { ...part, ...sum }
    for (const key of ['properties', '$defs', 'definitions'])
      if (isJsonObject(sum[key]) && isJsonObject(part[key])) made[key] = { ...part[key], ...sum[key] }
    const required = [sum, part].flatMap((one) => (Array.isArray(one['required']) ? one['required'] : []))
    return required.length > 0 ? { ...made, required } : made
  }, own)
}

/** With `anyOf` for `oneOf`, and without alternatives of which one allows everything. */
function anyOfThem({ anyOf, oneOf, ...rest }: JsonObject): JsonObject {
  const given = [anyOf, oneOf].find(Array.isArray)?.filter((one) => one !== false)
  if (!given || given.length === 0) return rest
  const isAny = given.some((one) => !isJsonObject(one) || Object.keys(one).length === 0)
  return isAny ? rest : { ...rest, anyOf: given }
}

/** Requires only what is a property. Beside a reference, properties are in another place. */
function withRequired({ required, ...rest }: JsonObject, names: Names): JsonObject {
  const { properties = {}, $ref: ref } = rest
  if (!Array.isArray(required)) return rest
  const shown = new Set(
    required.flatMap((name) => (typeof name === 'string' ? [names.get(name) ?? name] : [])),
  )
  const known = [...shown].filter(
    (name) => ref !== undefined || Object.hasOwn(properties as JsonObject, name),
  )
  return known.length > 0 ? { ...rest, required: known } : rest
}

function membersOf(schemas: JsonObject, nameOf: (name: string) => string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).flatMap(([name, one]) =>
      // What may not be there is not shown.
      one === false ? [] : nameOf(name).map((shown) => [shown, one === true ? {} : one]),
    ),
  )
}

/** Arrays with one schema for every item: of a tuple it allows what each place allows. */
function withItems(made: JsonObject, { items, prefixItems, type }: JsonObject): JsonObject {
  const places = [prefixItems, items].find((one): one is Json[] => Array.isArray(one))
  if (places) {
    const rest = isJsonObject(items) ? [items] : []
    const all = [...places, ...rest].filter(isJsonObject)
    const isAny = all.length < places.length || all.some((one) => Object.keys(one).length === 0)
    return { ...made, items: isAny ? {} : all.length === 1 ? all[0]! : { anyOf: all } }
  }
  const isArray = type === 'array' || (Array.isArray(type) && type.includes('array'))
  if (isJsonObject(items)) return made
  const { items: _none, ...rest } = made
  return isArray ? { ...rest, items: {} } : rest
}
