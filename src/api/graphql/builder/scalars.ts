/** The custom scalars: DateTime, and JSON for values without a fixed shape. */
import { GraphQLError, Kind, type ValueNode } from 'graphql'
import { DateTimeResolver } from 'graphql-scalars'
import { exactNumber, type Json, type JsonObject } from '../../../core/json.ts'
import { isJsonObject, jsonTooBig, maxJsonDepth } from '../../../core/json.ts'
import type { Builder } from './builder.ts'

export function addScalars(builder: Builder): void {
  builder.addScalarType('DateTime', DateTimeResolver, {
    description:
      'A point in time as an RFC 3339 text with milliseconds and time zone, such as 2026-11-21T04:16:00.000Z.',
  })
  builder.scalarType('JSON', {
    description: 'Any JSON value, such as the output of a tool.',
    serialize: (value) => value,
    parseValue: (value) => bounded(value),
    parseLiteral: (node, variables) => literal(node, variables ?? {}),
  })
  builder.scalarType('JSONObject', {
    description: 'A JSON object, such as the arguments of a tool.',
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

function bounded(value: unknown): Json {
  if (jsonTooBig(value, { maxDepth: maxJsonDepth, maxBytes: Infinity }))
    throw new GraphQLError(`Expected JSON of at most ${maxJsonDepth} levels.`)
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
      return numberOf(node.value)
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
      return countCopied(variables, (variables[node.name.value] ?? null) as Json)
  }
}

function numberOf(token: string): Json {
  const value = exactNumber(token)
  if (value === null) throw new GraphQLError('Expected JSON of numbers that can be kept exactly.')
  return value
}

/** Values that variables inside JSON literals may add up to in one operation: each use walks the variable again. */
const maxCopiedValues = 20_000
const copiedOf = new WeakMap<object, number>()

/**
 * Returns the value; throws when the operation copies too many values: one variable can be used in a thousand literals.
 */
function countCopied(variables: Record<string, unknown>, value: Json): Json {
  const total = (copiedOf.get(variables) ?? 0) + countValues(value, maxCopiedValues)
  copiedOf.set(variables, total)
  if (total > maxCopiedValues)
    throw new GraphQLError(
      `Expected JSON of at most ${maxCopiedValues} values from variables inside literals. Pass the whole ` +
        'value as one variable.',
    )
  return value
}

/** The number of values in a JSON value, itself included. Counting stops soon after `enough`. */
function countValues(value: Json, enough: number): number {
  const open: Json[] = [value]
  let count = 0
  while (open.length > 0 && count <= enough) {
    const next = open.pop()!
    count += 1
    if (!isJsonObject(next) && !Array.isArray(next)) continue
    const inner = Array.isArray(next) ? next : Object.values(next)
    if (count + open.length + inner.length > enough) return enough + 1
    for (const one of inner) open.push(one)
  }
  return count
}
