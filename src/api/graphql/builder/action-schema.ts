/** Converts GraphQL inputs to JSON Schema: the inputSchema of a platform action. Pure. */
import {
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
} from 'graphql'
import type { JsonObject } from '../../../core/json.ts'

/** The JSON Schema of each scalar. */
export const scalars: Record<string, JsonObject> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  DateTime: { type: 'string', format: 'date-time' },
  JSON: {},
  JSONObject: { type: 'object' },
  JSONSchema: { type: 'object' },
}

/** The JSON Schema of an object with these arguments or input fields. `path` names the input types around it. */
export function schemaOfInputs(
  inputs: readonly (GraphQLArgument | GraphQLInputField)[],
  path: readonly string[] = [],
): JsonObject {
  const required = inputs.filter((one) => isNonNullType(one.type) && one.defaultValue === undefined)
  return {
    type: 'object',
    properties: Object.fromEntries(inputs.map((one) => [one.name, schemaOfInput(one, path)])),
    ...(required.length > 0 ? { required: required.map((one) => one.name) } : {}),
    additionalProperties: false,
  }
}

function schemaOfInput(one: GraphQLArgument | GraphQLInputField, path: readonly string[]): JsonObject {
  const schema = schemaOfType(one.type, path)
  return one.description ? { ...schema, description: one.description } : schema
}

function schemaOfType(type: GraphQLInputType, path: readonly string[]): JsonObject {
  const optional = !isNonNullType(type)
  const schema = schemaOfNamed(getNullableType(type) as GraphQLInputType, path)
  if (!optional || schema['type'] === undefined) return schema
  return {
    ...schema,
    type: [schema['type'] as string, 'null'],
    ...(Array.isArray(schema['enum']) ? { enum: [...schema['enum'], null] } : {}),
  }
}

function schemaOfNamed(type: GraphQLInputType, path: readonly string[]): JsonObject {
  if (isListType(type)) return { type: 'array', items: schemaOfType(type.ofType as GraphQLInputType, path) }
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map((value) => value.name) }
  if (isInputObjectType(type)) {
    // A recursive input type ends in a plain object: GraphQL validates the rest.
    if (path.includes(type.name)) return { type: 'object' }
    const schema = schemaOfInputs(Object.values(type.getFields()), [...path, type.name])
    return type.isOneOf ? { ...schema, minProperties: 1, maxProperties: 1 } : schema
  }
  const { name } = type as { name: string }
  const known = scalars[name]
  if (!known) throw new Error(`The scalar ${name} has no JSON Schema.`)
  return known
}
