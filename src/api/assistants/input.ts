/** Reads the bodies of OpenAI's Assistants API. What would not be kept is refused and named, never dropped. */
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { invalidAt } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { StartGenerationInput } from '../../domain/generations/index.ts'

type Messages = NonNullable<StartGenerationInput['messages']>

const content = z.union([
  z.string().min(1),
  z
    .array(
      z.strictObject({
        type: z.literal('text', 'must be text: files are not kept'),
        text: z.string().min(1),
      }),
    )
    .min(1),
])
const nothing = z.record(z.string(), z.never('is not kept; leave it out')).nullish()
const message = z.strictObject({
  role: z.enum(['user', 'assistant']),
  content,
  attachments: z.array(z.never('is not kept; leave it out')).nullish(),
  metadata: nothing,
})
const messages = z.array(message).min(1).max(1000)
const tool = z.strictObject({
  type: z.literal('function', 'only function tools can be given; other tools are those of the agent'),
  function: z.strictObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema').nullish(),
    strict: z.boolean().nullish(),
  }),
})
const run = {
  assistant_id: z.string().min(1).max(200),
  instructions: z.string().nullish(),
  tools: z.array(tool).nullish(),
  temperature: z.number().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  metadata: nothing,
  stream: z.literal(false, 'is not served; poll the run').nullish(),
}
const runShape = z.strictObject({ ...run, additional_messages: messages })
const threadAndRunShape = z.strictObject({
  ...run,
  thread: z.strictObject({ messages, metadata: nothing }),
})
const outputsShape = z.strictObject({
  tool_outputs: z.array(z.strictObject({ tool_call_id: z.string(), output: z.string() })).min(1),
  stream: run.stream,
})

/** A run to be started, without its thread. */
export interface GivenRun {
  /** The name or id of the agent. */
  assistant: string
  settings: Omit<StartGenerationInput, 'agentId'>
}

/** A run of a thread that exists. */
export function readRun(body: JsonObject): GivenRun {
  const given = check(runShape, body, [])
  return runOf(given, given.additional_messages, ['additional_messages'])
}

/** A run that begins a thread. */
export function readThreadAndRun(body: JsonObject): GivenRun {
  const given = check(threadAndRunShape, body, [])
  return runOf(given, given.thread.messages, ['thread', 'messages'])
}

export function readOutputs(body: JsonObject): { toolCallId: string; output: Json }[] {
  return check(outputsShape, body, []).tool_outputs.map(({ tool_call_id: toolCallId, output }) => ({
    toolCallId,
    output,
  }))
}

type Given = Pick<
  z.infer<typeof runShape>,
  'assistant_id' | 'instructions' | 'tools' | 'temperature' | 'parallel_tool_calls'
>

function runOf(given: Given, said: z.infer<typeof messages>, path: string[]): GivenRun {
  if (said.at(-1)!.role !== 'user') throw invalidAt(path, 'must end with a message of the user')
  const { instructions, tools, temperature } = given
  const clientTools = (tools ?? []).map(({ function: { name, description, parameters } }) => ({
    name,
    description,
    inputSchema: parameters,
  }))
  return {
    assistant: given.assistant_id,
    settings: {
      messages: said.map((one) => ({
        role: one.role === 'user' ? 'USER' : 'ASSISTANT',
        content: typeof one.content === 'string' ? one.content : one.content.map((p) => p.text).join('\n'),
      })) as Messages,
      ...(instructions ? { instructions } : {}),
      ...(clientTools.length > 0 ? { clientTools } : {}),
      ...(typeof temperature === 'number' ? { temperature } : {}),
      ...(given.parallel_tool_calls === false ? { parallelToolCalls: false } : {}),
    },
  }
}
