/** Converts tools for the provider packages, with schemas reduced to what every provider accepts. */
import { isJsonNumber, type Json, type JsonObject, isJsonObject, packValue } from '../../../core/json.ts'
import { mapSchemas, refOf, resolveRef } from '../../../core/schema-walk.ts'
import { type Names, shownNames } from './argument-names.ts'
import type { JSONSchema7, LanguageModelV3FunctionTool } from '@ai-sdk/provider'
import { selfContained } from '../../../core/schema-refs.ts'
import type { Message } from '../message.ts'
import type { ModelTool } from '../port.ts'

/**
 * Values of several types become one alternative for each type; those of no type of the schema, lists and objects are left out.
 * When nothing is left every value is allowed.
 */
function typedValues(schema: JsonObject): JsonObject {
  const { enum: several, const: one, ...rest } = schema
  const values = Array.isArray(several) ? several : one === undefined ? [] : [one]
  if (values.length === 0) return schema
  const byType = new Map<string, Json[]>()
  for (const value of values) {
    const type = typeOf(value, rest['type'])
    if (type !== null) byType.set(type, [...(byType.get(type) ?? []), value])
  }
  const types = [...byType.keys()].filter((type) => type !== 'null')
  const kept = [...byType.values()].flat()
  if (types.length <= 1 && kept.length === values.length) return schema
  if (types.length <= 1) return kept.length > 0 ? { ...rest, enum: kept } : rest
  if (rest['anyOf'] !== undefined) return rest
  const { type: _all, ...others } = rest
  const anyOf = [...byType].map(([type, listed]) => (type === 'null' ? { type } : { type, enum: listed }))
  return { ...others, anyOf }
}

/** The type of a value that no other keyword describes; null when the schema does not allow it. */
function typeOf(value: Json, declared: Json | undefined): string | null {
  const type = value === null ? 'null' : isJsonNumber(value) ? 'number' : typeof value
  if (!['null', 'number', 'string', 'boolean'].includes(type)) return null
  const allowed = declared === undefined ? [type] : [declared].flat()
  if (allowed.includes(type)) return type
  return type === 'number' && allowed.includes('integer') && Number.isInteger(value) ? 'integer' : null
}

/** Keywords that no provider needs and some refuse. */
const dropped = new Set(
  '$schema $id $anchor $dynamicAnchor $recursiveAnchor $comment additionalItems unevaluatedItems prefixItems dependencies dependentRequired dependentSchemas'.split(
    ' ',
  ),
)
/** Classes of Unicode, looking around, groups with names, and references to groups. */
const irregular = /\\[pP]\{|\(\?(?!:)|\\[1-9]|\\k</

/** The schema with these names and without what a provider refuses. The root has been made an object. */
function plainSchema(root: JsonObject, names: Names): JsonObject {
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

/** Function tools. Always `strict: false`: a user's or an MCP server's schema rarely fits the strict subset. */
export function toTools(tools: ModelTool[]): LanguageModelV3FunctionTool[] {
  return tools.map((tool) => ({
    type: 'function',
    name: tool.name,
    ...(tool.description === null ? {} : { description: tool.description }),
    inputSchema: packValue(schemaForModel(tool.inputSchema)) as JSONSchema7,
    strict: false,
  }))
}

/** Declarations for the tool names of a history: a provider may refuse calls in it when no tool is declared. */
export function toolsOfHistory(messages: Message[]): ModelTool[] {
  const names = new Set<string>()
  for (const message of messages)
    if (message.role === 'assistant')
      for (const part of message.parts) if (part.type === 'tool-call') names.add(part.name)
  return [...names].map((name) => ({ name, description: null, inputSchema: { type: 'object' } }))
}

const combinators = ['allOf', 'anyOf', 'oneOf'] as const
const refusedAtTop = 'not enum const if then else $schema $id $ref $dynamicRef $recursiveRef dependentSchemas'
  .split(' ')
  .concat(combinators)

/**
 * The schema with `type: object` at the top and without what a provider refuses there or below (see `plainSchema`): a root
 * `$ref` is resolved, the properties of alternatives are merged. The model may then send arguments that the original refuses;
 * they are validated against the original anyway.
 */
export function schemaForModel(given: JsonObject): JsonObject {
  const schema = withDefinitions(given)
  const properties: JsonObject = {}
  const required = new Set<string>()
  collect(schema, schema, { properties, required }, { certain: true, depth: 0 })
  const rest = Object.fromEntries(Object.entries(schema).filter(([key]) => !refusedAtTop.includes(key)))
  const all = [...required].filter((name) => Object.hasOwn(properties, name))
  const merged: JsonObject = { ...rest, type: 'object', properties, required: all }
  if (all.length === 0) delete merged['required']
  return plainSchema(merged, shownNames(given))
}

/** With every reference to a definition: another place may be merged, renamed or left out. */
function withDefinitions(schema: JsonObject): JsonObject {
  let isSo = true
  mapSchemas(schema, (one) => {
    const found = refOf(one)
    isSo &&= !found || (found.keyword === '$ref' && /^#\/(?:\$defs|definitions)\/[^/]*$/.test(found.ref))
    return one
  })
  return isSo ? schema : selfContained(schema, schema)
}

function collect(
  schema: JsonObject,
  root: JsonObject,
  into: { properties: JsonObject; required: Set<string> },
  at: { certain: boolean; depth: number },
): void {
  if (at.depth > 8) return
  const own = isJsonObject(schema['properties']) ? schema['properties'] : {}
  for (const [name, value] of Object.entries(own))
    if (!Object.hasOwn(into.properties, name))
      Object.defineProperty(into.properties, name, {
        value,
        enumerable: true,
        writable: true,
        configurable: true,
      })
  if (at.certain && Array.isArray(schema['required']))
    for (const name of schema['required']) if (typeof name === 'string') into.required.add(name)
  const found = refOf(schema)
  const target = found && resolveRef(root, found.ref)
  if (isJsonObject(target)) collect(target, root, into, { ...at, depth: at.depth + 1 })
  for (const word of combinators) {
    const branches = Array.isArray(schema[word]) ? schema[word] : []
    const certain = at.certain && (word === 'allOf' || branches.length === 1)
    for (const branch of branches)
      if (isJsonObject(branch)) collect(branch, root, into, { certain, depth: at.depth + 1 })
  }
}
