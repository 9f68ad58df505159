/** Converts tools for the provider packages, with schemas reduced to what every provider accepts at the top level. */
import type { JSONSchema7, LanguageModelV3FunctionTool } from '@ai-sdk/provider'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Message } from '../message.ts'
import type { ModelTool } from '../port.ts'

/** Function tools. Always `strict: false`: a user's or an MCP server's schema rarely fits the strict subset. */
export function toTools(tools: ModelTool[]): LanguageModelV3FunctionTool[] {
  return tools.map((tool) => ({
    type: 'function',
    name: tool.name,
    ...(tool.description === null ? {} : { description: tool.description }),
    inputSchema: schemaForModel(tool.inputSchema) as JSONSchema7,
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
const refusedAtTop = ['not', 'enum', 'const', 'if', 'then', 'else', '$schema', '$id', '$ref', ...combinators]

/**
 * The schema with `type: object` at the top and without what OpenAI and Anthropic refuse there: a root `$ref` is
 * resolved, the properties of alternatives are merged. The model may then send arguments that the original refuses;
 * they are validated against the original anyway.
 */
export function schemaForModel(schema: JsonObject): JsonObject {
  const properties: JsonObject = {}
  const required = new Set<string>()
  collect(schema, schema, { properties, required }, { certain: true, depth: 0 })
  const rest = Object.fromEntries(Object.entries(schema).filter(([key]) => !refusedAtTop.includes(key)))
  const all = [...required].filter((name) => Object.hasOwn(properties, name))
  return { ...rest, type: 'object', properties, ...(all.length > 0 ? { required: all } : {}) }
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
  const target = typeof schema['$ref'] === 'string' ? follow(schema['$ref'], root) : null
  if (target) collect(target, root, into, { ...at, depth: at.depth + 1 })
  for (const word of combinators) {
    const branches = Array.isArray(schema[word]) ? schema[word] : []
    const certain = at.certain && (word === 'allOf' || branches.length === 1)
    for (const branch of branches)
      if (isJsonObject(branch)) collect(branch, root, into, { certain, depth: at.depth + 1 })
  }
}

function follow(ref: string, root: JsonObject): JsonObject | null {
  if (!ref.startsWith('#/')) return null
  let value: unknown = root
  for (const step of ref.slice(2).split('/'))
    value = isJsonObject(value) ? value[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined
  return isJsonObject(value) ? value : null
}
