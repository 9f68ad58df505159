/** Reads the bodies of OpenAI's Assistants API. What would not be kept is refused and named, never dropped. */
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { invalidAt } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { StartGenerationInput } from '../../domain/generations/index.ts'
import { fileOfUrl, type GivenFile } from '../runs/given-files.ts'

/** A message; files only in one of the user. */
export interface GivenMessage {
  role: 'USER' | 'ASSISTANT'
  content: string
  files: GivenFile[]
}

const part = z.union([
  z.strictObject({ type: z.literal('text'), text: z.string().min(1) }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.object({ url: z.string(), detail: z.string().nullish() }),
  }),
  z.strictObject({
    type: z.literal('image_file'),
    image_file: z.object({ file_id: z.string(), detail: z.string().nullish() }),
  }),
])
const nothing = z.record(z.string(), z.never('is not kept; leave it out')).nullish()
const messageShape = z.strictObject({
  role: z.enum(['user', 'assistant']),
  content: z.union([z.string().min(1), z.array(part).min(1).max(100)]),
  attachments: z.array(z.never('is not kept; put image_file or image_url into the content')).nullish(),
  metadata: nothing,
})
const messages = z.array(messageShape).max(1000)
const tool = z.strictObject({
  type: z.literal('function', 'only function tools can be given; other tools are those of the agent'),
  function: z.strictObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema').nullish(),
    strict: z.boolean().nullish(),
  }),
})
const absent = (why: string) => z.null(why).optional()
const run = {
  assistant_id: z.string().min(1).max(200),
  model: z.string().nullish(),
  instructions: z.string().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) }),
    ])
    .nullish(),
  temperature: z.number().nullish(),
  max_completion_tokens: z.number().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  metadata: nothing,
  response_format: z.literal('auto', 'is set by the agent; leave it out').nullish(),
  truncation_strategy: z
    .strictObject({
      type: z.literal('auto', 'is set by the agent; leave it out'),
      last_messages: z.null().optional(),
    })
    .nullish(),
  top_p: z.literal(1, 'is set by the provider of the agent; leave it out').nullish(),
  max_prompt_tokens: absent('is not kept; the agent has its own limits'),
  stream: z.boolean().nullish(),
}
const runShape = z.strictObject({
  ...run,
  additional_instructions: z.string().nullish(),
  additional_messages: messages.nullish(),
})
const threadShape = z.strictObject({
  messages: messages.nullish(),
  metadata: nothing,
  tool_resources: z.strictObject({}, 'is not kept; leave it out').nullish(),
})
const threadAndRunShape = z.strictObject({ ...run, thread: threadShape.nullish() })
const outputsShape = z.strictObject({
  tool_outputs: z.array(z.strictObject({ tool_call_id: z.string(), output: z.string() })).min(1),
  stream: run.stream,
})

/** A run to be started, without its thread. */
export interface GivenRun {
  /** The name or id of the agent. */
  assistant: string
  settings: Omit<StartGenerationInput, 'agentId'>
  messages: GivenMessage[]
  streams: boolean
}

/** A run of a thread that exists. */
export function readRun(body: JsonObject): GivenRun {
  const given = check(runShape, body, [])
  const said = given.additional_messages ?? []
  const instructions = [given.instructions, given.additional_instructions].filter(Boolean).join('\n\n')
  return givenRun(
    { ...given, instructions },
    said.map((one, i) => messageOf(one, ['additional_messages', String(i)])),
  )
}

/** A run that begins a thread. */
export function readThreadAndRun(body: JsonObject): GivenRun {
  const given = check(threadAndRunShape, body, [])
  const said = given.thread?.messages ?? []
  if (said.length === 0) throw invalidAt(['thread', 'messages'], 'must have a message of the user')
  return givenRun(
    given,
    said.map((one, i) => messageOf(one, ['thread', 'messages', String(i)])),
  )
}

/** The messages of a thread that is opened. */
export function readThread(body: JsonObject): GivenMessage[] {
  const said = check(threadShape, body, []).messages ?? []
  return said.map((one, i) => messageOf(one, ['messages', String(i)]))
}

export function readMessage(body: JsonObject): GivenMessage {
  return messageOf(check(messageShape, body, []), [])
}

export function readOutputs(body: JsonObject): {
  outputs: { toolCallId: string; output: Json }[]
  streams: boolean
} {
  const { tool_outputs: given, stream } = check(outputsShape, body, [])
  const outputs = given.map(({ tool_call_id: toolCallId, output }) => ({ toolCallId, output }))
  return { outputs, streams: stream ?? false }
}

function messageOf({ role, content }: z.infer<typeof messageShape>, path: string[]): GivenMessage {
  if (typeof content === 'string') return { role: roleOf(role), content, files: [] }
  const files = content.flatMap((one, i): GivenFile[] => {
    const at = [...path, 'content', String(i)]
    if (one.type === 'image_file')
      return [{ fileId: one.image_file.file_id, path: [...at, 'image_file', 'file_id'] }]
    return one.type === 'image_url' ? [fileOfUrl(one.image_url.url, null, [...at, 'image_url', 'url'])] : []
  })
  if (role === 'assistant' && files[0])
    throw invalidAt(files[0].path, 'is a file, which only the user can give')
  const text = content.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n')
  if (!text) throw invalidAt([...path, 'content'], 'must have text')
  return { role: roleOf(role), content: text, files }
}

const roleOf = (role: 'user' | 'assistant') => (role === 'user' ? 'USER' : 'ASSISTANT')

type Given = Omit<z.infer<typeof runShape>, 'additional_messages' | 'additional_instructions'>

function givenRun(given: Given, said: GivenMessage[]): GivenRun {
  const { instructions, tools, temperature, tool_choice: choice, model } = given
  const clientTools = (tools ?? []).map(({ function: { name, description, parameters } }) => ({
    name,
    description,
    inputSchema: parameters,
  }))
  const rule =
    choice === 'required'
      ? { mode: 'REQUIRED' as const }
      : isJsonObject(choice)
        ? { tool: (choice as { function: { name: string } }).function.name }
        : null
  return {
    assistant: given.assistant_id,
    messages: said,
    streams: given.stream ?? false,
    settings: {
      ...(model ? { model } : {}),
      ...(instructions ? { instructions } : {}),
      ...(clientTools.length > 0 ? { clientTools } : {}),
      // In every step it would never end: OpenAI's tool_choice is about the first one.
      ...(rule ? { stepRules: [{ step: 1, toolChoice: rule }] } : {}),
      ...(choice === 'none' ? { toolChoice: { mode: 'NONE' as const } } : {}),
      ...(typeof temperature === 'number' ? { temperature } : {}),
      ...(given.max_completion_tokens ? { maxOutputTokens: given.max_completion_tokens } : {}),
      ...(given.parallel_tool_calls === false ? { parallelToolCalls: false } : {}),
    },
  }
}
