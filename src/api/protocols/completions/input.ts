/**
 * Reads the body of a request for a chat completion. What would change the run and cannot be done is refused and named; what
 * changes nothing is ignored and named.
 */
import { check } from '../../../core/check.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { StartGenerationInput } from '../../../domain/generations/index.ts'
import { unknownFields } from '../segments/requests.ts'
import { toolField, type InputNames } from '../segments/input-names.ts'
import { overridesOf } from '../segments/openai-requests.ts'
import { readMessage, type GivenMessage } from './messages.ts'
import { requestShape } from './request-shape.ts'

export interface GivenRequest {
  model: string
  stream: boolean
  /** Whether the stream ends with the usage. */
  tellsUsage: boolean
  user: string | null
  messages: GivenMessage[]
  /** The overrides for a new run. */
  settings: Omit<StartGenerationInput, 'agentId'>
  /** Fields that change nothing of what runs. */
  ignored: string[]
}

/** Where a request has the inputs of the operations. */
export const names: InputNames = {
  agentId: ['model'],
  messages: ['messages'],
  attachments: ['messages'],
  outputs: ['messages'],
  retryOf: ['messages'],
  threadId: ['messages'],
  clientTools: ([i, ...rest]) => (i === undefined ? ['tools'] : ['tools', i, 'function', ...toolField(rest)]),
  instructions: ['messages'],
  toolChoice: ['tool_choice'],
  stepRules: ['tool_choice'],
  parallelToolCalls: ['parallel_tool_calls'],
  temperature: ['temperature'],
  maxOutputTokens: ['max_completion_tokens'],
  outputSchema: (rest) => ['response_format', 'json_schema', 'schema', ...rest],
  idempotencyKey: ['Idempotency-Key'],
}

/** What clients send by default, or as a wish. */
const wishes = ['store', 'metadata', 'seed', 'reasoning_effort', 'verbosity', 'prediction'] as const

/** Throws INVALID, with the path of the fault, for anything that would not be done as it says. */
export function readRequest(body: JsonObject): GivenRequest {
  const given = check(requestShape, body, [])
  const messages = given.messages.map((one, i) => readMessage(one, ['messages', String(i)]))
  const { tool_choice: choice, response_format: format } = given
  return {
    model: given.model,
    stream: given.stream ?? false,
    tellsUsage: given.stream_options?.include_usage ?? false,
    user: given.user ?? null,
    messages,
    settings: overridesOf({
      instructions: messages
        .flatMap(({ role, text }) => (role === 'system' && text ? [text] : []))
        .join('\n\n'),
      functions: (given.tools ?? []).map((tool) => tool.function),
      choice: typeof choice === 'object' && choice ? choice.function : choice,
      parallel: given.parallel_tool_calls,
      temperature: given.temperature,
      maxOutputTokens: given.max_completion_tokens ?? given.max_tokens,
      outputSchema: schemaOf(format),
    }),
    ignored: [
      ...unknownFields(body, requestShape.shape),
      ...wishes.filter((name) => given[name] !== null && given[name] !== undefined),
    ],
  }
}

function schemaOf(
  format:
    | { type: 'text' | 'json_object' }
    | { type: 'json_schema'; json_schema: { schema: JsonObject } }
    | null
    | undefined,
): JsonObject | null {
  if (format?.type === 'json_schema') return format.json_schema.schema
  return format?.type === 'json_object' ? { type: 'object' } : null
}
