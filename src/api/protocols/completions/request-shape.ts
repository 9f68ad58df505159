/** The fields of a request for a chat completion: those that are served, and those that are refused with the reason. */
import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'

const schema = z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema')
const absent = (why: string) => z.null(why).optional()
const noneOf = (why: string) =>
  z
    .custom((value) => value === null || (typeof value === 'object' && Object.keys(value).length === 0), why)
    .optional()
const off = (why: string) => z.literal([0, null], why).optional()
const ignored = z.unknown().optional()

const text = z.object({ type: z.literal('text'), text: z.string() })
const refusal = z.object({ type: z.literal('refusal'), refusal: z.string() })
const image = z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) })
const file = z.object({
  type: z.literal('file'),
  file: z.object({
    file_id: z.string().nullish(),
    file_data: z.string().nullish(),
    filename: z.string().nullish(),
  }),
})
/** A text is one part. */
const parts = <Part extends z.ZodType>(part: Part) =>
  z.preprocess(
    (content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content),
    z.array(part, 'must be a text or a list of parts').max(200, 'must have at most 200 parts'),
  )
const userPart = z.discriminatedUnion('type', [text, image, file], 'must be text, image_url or file')

const message = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.enum(['system', 'developer']), content: parts(text) }),
    z.object({ role: z.literal('user'), content: parts(userPart) }),
    z.object({
      role: z.literal('assistant'),
      content: parts(z.discriminatedUnion('type', [text, refusal], 'must be text or refusal')).nullish(),
      tool_calls: z
        .array(
          z.object({
            id: z.string().max(200),
            type: z.literal('function', 'must be function'),
            function: z.object({ name: z.string().max(200), arguments: z.string() }),
          }),
        )
        .max(128)
        .nullish(),
      function_call: absent('is not kept; use tool_calls'),
    }),
    z.object({ role: z.literal('tool'), tool_call_id: z.string().max(200), content: parts(text) }),
  ],
  'must be a message of system, developer, user, assistant or tool',
)

export type MessageShape = z.output<typeof message>
export type PartShape = z.output<typeof userPart> | z.output<typeof refusal>

const byProvider = 'is set by the provider of the agent; leave it out'

/** The body of a request. What would change the run and cannot be done is refused here; other fields are not known. */
export const requestShape = z.object({
  model: z.string().min(1).max(200),
  messages: z.array(message).min(1, 'must not be empty').max(2000, 'must have at most 2000 messages'),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z
    .array(
      z.object({
        type: z.literal('function', 'must be function; other tools are those of the agent'),
        function: z.object({
          name: z.string(),
          description: z.string().nullish(),
          parameters: schema.nullish(),
        }),
      }),
    )
    .nullish(),
  tool_choice: z
    .union(
      [
        z.enum(['auto', 'none', 'required']),
        z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
      ],
      'must be auto, none, required or a function',
    )
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  temperature: z.number().nullish(),
  max_completion_tokens: z.number().nullish(),
  max_tokens: z.number().nullish(),
  response_format: z
    .discriminatedUnion(
      'type',
      [
        z.object({ type: z.literal('text') }),
        z.object({ type: z.literal('json_object') }),
        z.object({ type: z.literal('json_schema'), json_schema: z.object({ schema }) }),
      ],
      'must be text, json_object or json_schema',
    )
    .nullish(),
  /** Whose conversation it is, of the many that a program may have with one key. */
  user: z.string().max(200, 'must have at most 200 characters').nullish(),
  n: z.literal([1, null], 'must be 1: ask again for another answer').optional(),
  service_tier: z.enum(['auto', 'default']).nullish(),
  modalities: z.array(z.literal('text')).nullish(),
  top_p: z.literal([1, null], byProvider).optional(),
  presence_penalty: off(byProvider),
  frequency_penalty: off(byProvider),
  logit_bias: noneOf(byProvider),
  stop: noneOf('is not kept; the agent has its own rules for when to stop'),
  logprobs: z.literal([false, null], 'are not kept').optional(),
  top_logprobs: off('are not kept'),
  audio: absent('is not kept'),
  web_search_options: absent('is not kept; tools that run here are those of the agent'),
  functions: absent('are not kept; use tools'),
  function_call: absent('is not kept; use tool_choice'),
  // Named as ignored: see `readRequest`.
  store: ignored,
  metadata: ignored,
  seed: ignored,
  reasoning_effort: ignored,
  verbosity: ignored,
  prediction: ignored,
  // These say nothing about the answer.
  safety_identifier: ignored,
  prompt_cache_key: ignored,
  prompt_cache_retention: ignored,
})
