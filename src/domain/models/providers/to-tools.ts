/** Converts tools for the provider packages, with schemas reduced to what every provider accepts. */
import type { JSONSchema7, LanguageModelV3FunctionTool } from '@ai-sdk/provider'
import { isJsonObject, packed, type JsonObject } from '../../../core/json.ts'
import { selfContained } from '../../../core/schema-refs.ts'
import { mapSchemas, refOf, resolveRef } from '../../../core/schema-walk.ts'
import type { Message } from '../message.ts'
import type { ModelTool } from '../port.ts'
import { shownNames } from './argument-names.ts'
import { plainSchema } from './plain-schema.ts'

/** Function tools. Always `strict: false`: a user's or an MCP server's schema rarely fits the strict subset. */
export function toTools(tools: ModelTool[]): LanguageModelV3FunctionTool[] {
  return tools.map((tool) => ({
    type: 'function',
    name: tool.name,
    ...(tool.description === null ? {} : { description: tool.description }),
    inputSchema: packed(schemaForModel(tool.inputSchema)) as JSONSchema7,
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
