/** The scalars, where nothing with a shape would do. */
import { GraphQLError, Kind, type ValueNode } from 'graphql'
import { DateTimeResolver } from 'graphql-scalars'
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject, jsonTooBig } from '../../core/json.ts'
import type { Builder } from './builder.ts'

export function addScalars(builder: Builder): void {
  builder.addScalarType('DateTime', DateTimeResolver, {
    description:
      'A moment as an RFC 3339 text with milliseconds and time zone, such as 2026-11-21T04:16:00.000Z.',
  })
  builder.scalarType('JSON', {
    description: 'Any JSON value: what tools and clients give back.',
    serialize: (value) => value,
    parseValue: (value) => bounded(value),
    parseLiteral: (node, variables) => literal(node, variables ?? {}),
  })
  builder.scalarType('JSONObject', {
    description: 'A JSON object: arguments of tools and presets.',
    serialize: (value) => value as JsonObject,
    parseValue: (value) => object(value, 'a JSON object'),
    parseLiteral: (node, variables) => object(literal(node, variables ?? {}), 'a JSON object'),
  })
  builder.scalarType('JSONSchema', {
    description: 'A JSON Schema object, draft 2020-12 unless $schema names 2019-09, draft-07 or draft-06.',
    serialize: (value) => value as JsonObject,
    parseValue: (value) => object(value, 'a JSON Schema object'),
    parseLiteral: (node, variables) => object(literal(node, variables ?? {}), 'a JSON Schema object'),
  })
}

/** Deeper JSON would overflow the stack of whoever walks it by recursion. Every operation has its own, lower limit. */
const maxDepth = 500

function bounded(value: unknown): Json {
  if (jsonTooBig(value, { maxDepth, maxBytes: Infinity }))
    throw new GraphQLError(`Expected JSON of at most ${maxDepth} levels.`)
  return value as Json
}

function object(value: unknown, what: string): JsonObject {
  if (isJsonObject(value)) return bounded(value) as JsonObject
  throw new GraphQLError(`Expected ${what}.`)
}

function literal(node: ValueNode, variables: Record<string, unknown>): Json {
  switch (node.kind) {
    case Kind.STRING:
    case Kind.BOOLEAN:
    case Kind.ENUM:
      return node.value
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value)
    case Kind.NULL:
      return null
    case Kind.LIST:
      return node.values.map((value) => literal(value, variables))
    case Kind.OBJECT:
      // fromEntries defines members, so that a member named "__proto__" stays one.
      return Object.fromEntries(
        node.fields.map((field) => [field.name.value, literal(field.value, variables)]),
      )
    case Kind.VARIABLE:
      return (variables[node.name.value] ?? null) as Json
  }
}
