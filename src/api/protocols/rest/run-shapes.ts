/** The shapes of runs and errors, and what shapes are made of. */
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
