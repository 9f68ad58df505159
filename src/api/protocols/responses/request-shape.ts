/** The fields of a request for a response: those that are served, and those that are refused with the reason. */
import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { serverLabel } from './items.ts'

const functionTool = z.object({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema').nullish(),
  strict: z.boolean().nullish(),
})
/** Tools that clients give by default. The model does not get them: what runs here are the tools of the agent. */
const hostedTool = z.object({ type: z.enum(['namespace', 'web_search', 'web_search_preview']) })
/** How a client says that the tools of the agent may be called. */
const ownServer = z.object({ type: z.literal('mcp'), server_label: z.literal(serverLabel) })
const tool = z.discriminatedUnion(
  'type',
  [functionTool, hostedTool, ownServer],
  'only function tools can be given; other tools are those of the agent',
)

const absent = (why: string) => z.null(why).optional()
const ignored = z.unknown().optional()

/** The body of a request. What would change the run and cannot be done is refused here; other fields are not known. */
export const requestShape = z.object({
  model: z.string().min(1).max(200),
  input: z.union([
    z.string().min(1, 'must not be empty'),
    z.array(z.unknown()).min(1, 'must not be empty').max(2000),
  ]),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish(),
  store: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z
    .union(
      [z.enum(['auto', 'none', 'required']), z.object({ type: z.literal('function'), name: z.string() })],
      'must be auto, none, required or a function',
    )
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  temperature: z.number().nullish(),
  max_output_tokens: z.number().nullish(),
  text: z
    .object({
      format: z
        .discriminatedUnion(
          'type',
          [
            z.object({ type: z.literal('text') }),
            z.object({
              type: z.literal('json_schema'),
              schema: z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema'),
            }),
          ],
          'must be text or json_schema',
        )
        .nullish(),
      verbosity: ignored,
    })
    .nullish(),
  metadata: ignored,
  include: ignored,
  truncation: z.enum(['disabled', 'auto']).nullish(),
  service_tier: z.enum(['auto', 'default']).nullish(),
  top_p: z.literal(1, 'is set by the provider of the agent; leave it out').nullish(),
  conversation: absent('is not kept; use previous_response_id'),
  prompt: absent('is not kept; the agent has its instructions'),
  max_tool_calls: absent('is not kept; the agent has its own limits'),
  reasoning: ignored,
  // These say nothing about the response.
  stream_options: ignored,
  user: ignored,
  safety_identifier: ignored,
  prompt_cache_key: ignored,
  prompt_cache_retention: ignored,
})
