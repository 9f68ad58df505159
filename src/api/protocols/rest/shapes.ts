/**
 * The shapes of tools, agents, runs, errors and lists: those of SOAT's SDK, as far as there is an operation for them.
 */
import { z } from 'zod'
import { errorCodes } from '../../../core/errors.ts'

/** Any JSON, with the description of what it is. */
export const anyJson = (description: string) =>
  z
    .unknown()
    .meta({ description, type: ['object', 'array', 'string', 'number', 'boolean', 'null'], items: {} })
export const object = z.record(z.string(), z.unknown())
export const time = z.iso.datetime()
export const id = (prefix: string) => z.string().describe(`An id; it begins with ${prefix}_.`)

export const approval = z.object({
  approval_id: id('apr'),
  tool_call_id: id('call'),
  tool_name: z.string(),
  expires_at: time,
})
export const generate = z.strictObject({
  messages: z
    .array(
      z.strictObject({
        role: z.enum(['user', 'assistant'], 'must be user or assistant: the agent has the instructions'),
        content: z.string('must be a text'),
      }),
    )
    .describe('The conversation; the last message is the user’s.'),
  stream: z.boolean().nullish().describe('Whether the response is a stream of server-sent events.'),
})
export const toolOutputs = z.strictObject({
  tool_outputs: z
    .array(z.strictObject({ tool_call_id: z.string(), output: z.unknown() }))
    .describe('Outputs of open client tool calls; one that is refused refuses all.'),
})
export const askedCall = z.object({ tool_call_id: id('call'), tool_name: z.string(), args: object })
export const generation = z.object({
  id: id('gen'),
  generation_id: id('gen'),
  agent_id: id('agt'),
  thread_id: id('thr'),
  status: z.enum([
    'queued',
    'running',
    'requires_action',
    'awaiting_approval',
    'completed',
    'failed',
    'cancelled',
    'expired',
  ]),
  text: z.string().nullable(),
  object: anyJson('The structured output of an agent with an output schema.'),
  tool_calls: z.array(askedCall).nullable(),
  required_action: z
    .object({ type: z.literal('submit_tool_outputs'), tool_calls: z.array(askedCall) })
    .nullable(),
  approvals: z.array(approval).describe('The approvals that people are asked for.'),
  stop_reason: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  created_at: time,
  finished_at: time.nullable(),
})
/** What a key that may not read runs is told of the one that it started. */
export const startedGeneration = z.object({
  id: id('gen'),
  generation_id: id('gen'),
  status: z.literal('queued'),
})

const textDelta = z.object({
  event: z.literal('text_delta'),
  data: z.object({ step_index: z.number(), attempt: z.number(), offset: z.number(), text: z.string() }),
})
const runResult = z.object({ event: z.literal('result'), data: generation })
const runEvent = z.object({
  event: z.string().describe('The type of the event, such as tool_call.settled.'),
  id: z.string().describe('The cursor of the event, for Last-Event-ID.'),
  data: z.object({ type: z.string(), at: time, data: object }),
})
/** One event of a stream, its data parsed. */
export const streamedEvent = z
  .union([textDelta, runResult, runEvent])
  .describe('Text as it is written, an event of the log, or the state at the end, which is the last event.')

export const errorDetails = z.object({
  issues: z
    .array(z.object({ path: z.array(z.string()), message: z.string() }))
    .optional()
    .describe('Every fault of the request, each with its path.'),
  retry_after_ms: z.number().optional(),
  action: z.string().optional().describe('The action that the caller lacks.'),
  conflicting_id: z.string().optional(),
  oldest_cursor: z.string().optional(),
  newest_cursor: z.string().optional(),
  removed_at: z.string().optional(),
})
export const error = z.object({
  error: z.object({ code: z.enum(errorCodes), message: z.string(), details: errorDetails.optional() }),
})
export type ShownGeneration = z.infer<typeof generation>

const execute = z.strictObject({
  url: z.string().describe('The URL; {name} in it is replaced by the argument of that name.'),
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).nullish().describe('Default: POST.'),
  headers: z.record(z.string(), z.string()).nullish(),
})
const mcp = z.strictObject({ url: z.string(), headers: z.record(z.string(), z.string()).nullish() })
export const toolTypes = ['http', 'client', 'mcp', 'soat'] as const

const toolFields = {
  description: z.string().nullish().describe('What the model reads to choose the tool.'),
  parameters: object.nullish().describe('The JSON Schema of the arguments; required for http and client.'),
  execute: execute.nullish().describe('The request of an http tool.'),
  mcp: mcp.nullish().describe('The server of an mcp tool.'),
  actions: z.array(z.string()).nullish().describe('The platform actions of a soat tool.'),
  preset_parameters: object
    .nullish()
    .describe('Fixed arguments: hidden from models, and not to be overridden.'),
}
export const createTool = z.strictObject({
  project_id: z.string().nullish().describe('Default: the project of the key.'),
  name: z.string(),
  type: z.enum(toolTypes).nullish().describe('Default: http.'),
  ...toolFields,
})
export const updateTool = z.strictObject({
  name: z.string().optional(),
  type: z.enum(toolTypes).optional().describe('It cannot be changed.'),
  ...toolFields,
})
export const tool = z.object({
  id: id('tool'),
  project_id: id('proj'),
  name: z.string(),
  type: z.enum(toolTypes),
  description: z.string().nullable(),
  parameters: object.nullable(),
  execute: z
    .object({ url: z.string(), method: z.string(), headers: object.describe('Secrets are masked.') })
    .nullable(),
  mcp: z.object({ url: z.string(), headers: object.describe('Secrets are masked.') }).nullable(),
  actions: z.array(z.string()).nullable(),
  preset_parameters: object.nullable(),
  created_at: time,
  updated_at: time,
})
export const toolList = z.object({ data: z.array(tool) })
export const callTool = z.strictObject({
  action: z.string().nullish().describe('Required for mcp and soat tools, refused for others.'),
  input: object.nullish().describe('The arguments. Default: {}.'),
})

export const toolOutput = anyJson(
  'What the tool returned: any JSON. In the state of a call null without a result.',
)
export const toolCall = z.object({
  tool_call_id: id('call'),
  tool_id: id('tool'),
  tool_name: z.string(),
  status: z
    .string()
    .describe('awaiting_approval, executing, succeeded, errored, unknown, rejected, and others.'),
  output: toolOutput,
  is_error: z.boolean().nullable(),
  approvals: z.array(approval),
  created_at: time,
  settled_at: time.nullable(),
})

const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.strictObject({ type: z.literal('tool'), name: z.string().optional(), tool_name: z.string().optional() }),
])
const stepNumber = z.number().nullish()
const agentFields = {
  ai_provider_id: z.string().nullish().describe('The name of a model provider; then model is needed too.'),
  instructions: z.string().nullish(),
  model: z.string().nullish().describe('The model, or without ai_provider_id "provider/model".'),
  tool_ids: z.array(z.string()).nullish(),
  max_steps: z.number().nullish(),
  tool_choice: toolChoice.nullish(),
  stop_conditions: z
    .array(z.strictObject({ type: z.literal('hasToolCall'), tool_name: z.string() }))
    .nullish(),
  active_tool_ids: z.array(z.string()).nullish(),
  step_rules: z
    .array(
      z.strictObject({
        step: stepNumber,
        from_step: stepNumber,
        to_step: stepNumber,
        tool_choice: toolChoice.nullish(),
        active_tool_ids: z.array(z.string()).nullish(),
      }),
    )
    .nullish(),
  temperature: z.number().nullish(),
  max_context_messages: z.number().nullish(),
  // Known to SOAT's clients, and not to Gatehouse: only the value that means "none" is accepted.
  boundary_policy: z.null().optional(),
  knowledge_config: z.null().optional(),
  single_session_per_actor: z.literal(false).nullish(),
}
export const createAgent = z.strictObject({
  project_id: z.string().nullish().describe('Default: the project of the key.'),
  name: z.string().nullish().describe('Unique in the project. Default: a made-up name.'),
  ...agentFields,
})
export const updateAgent = z.strictObject({ name: z.string().nullish(), ...agentFields })
const shownChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('tool'), name: z.string() }),
])
export const agent = z.object({
  id: id('agt'),
  project_id: id('proj'),
  ai_provider_id: z.string().nullable(),
  name: z.string(),
  instructions: z.string().nullable(),
  model: z.string().nullable(),
  tool_ids: z.array(z.string()),
  max_steps: z.number(),
  tool_choice: shownChoice,
  stop_conditions: z.array(z.object({ type: z.literal('hasToolCall'), tool_name: z.string() })),
  active_tool_ids: z.array(z.string()).nullable(),
  step_rules: z
    .array(
      z.object({
        step: z.number().optional(),
        from_step: z.number().nullish(),
        to_step: z.number().nullish(),
        tool_choice: shownChoice.nullable(),
        active_tool_ids: z.array(z.string()).nullable(),
      }),
    )
    .describe('Rules for one step (step), or for several (from_step, to_step).'),
  temperature: z.number().nullable(),
  max_context_messages: z.number().nullable(),
  created_at: time,
  updated_at: time,
})
export const agentList = z.array(agent)

export const list = z.strictObject({
  project_id: z.string().optional().describe('Default: the project of the key.'),
  limit: z
    .string()
    .regex(/^([1-9]|[1-9]\d|100)$/, 'must be a whole number from 1 to 100')
    .optional()
    .describe('Default: 100. With more, the Link header has the next page.'),
  after: z.string().optional().describe('Where the page begins: from the Link header.'),
})
/** An error of a call; that of a call which was made has its state. */
export const callError = z.object({
  error: z.object({ ...error.shape.error.shape, details: z.union([toolCall, errorDetails]).optional() }),
})
export type ShownTool = z.infer<typeof tool>
export type ShownAgent = z.infer<typeof agent>
export type ShownToolCall = z.infer<typeof toolCall>
