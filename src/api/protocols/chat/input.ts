/**
 * Reads what the AI SDK's chat transport posts: a chat and its messages. What would change the run and cannot be done is
 * refused and named; what changes nothing is ignored and named.
 */
import { z } from 'zod'
import { check, text } from '../../../core/check.ts'
import { invalidAt } from '../../../core/errors.ts'
import { kindOfId } from '../../../core/ids.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'
import type { StartGenerationInput } from '../../../domain/generations/index.ts'
import type { GivenAnswers } from '../segments/answers.ts'
import { fileOfUrl, type GivenFile } from '../segments/given-files.ts'
import { unknownFields } from '../segments/requests.ts'
import { toolField, type InputNames } from '../segments/input-names.ts'
import { readQuestionId } from '../segments/presentation.ts'
import type { TurnMessage } from '../segments/thread-runs.ts'

export interface ChatRequest {
  chatId: string
  /** The user asked for an answer to the last message again, or has edited it in its place. */
  isAgain: boolean
  /** All of the conversation as the client has it; the last one is the user's, or ours with its answers. */
  messages: TurnMessage[]
  /** What the last message, which is ours, answers; null for a message of the user. */
  answers: GivenAnswers | null
  settings: Pick<StartGenerationInput, 'clientTools' | 'instructions'>
  /** Where the chat has the inputs of the operations. */
  names: InputNames
  /** Fields that change nothing of what runs. */
  ignored: string[]
}

/** `ofPage`: the names of the tools in `tools`; none: they are in `clientTools`. */
const namesOf = (ofPage: readonly string[]): InputNames => ({
  messages: ['messages'],
  attachments: ['messages'],
  outputs: ['messages'],
  reason: ['messages'],
  clientTools: (path) => {
    const [i, ...rest] = path
    if (ofPage.length === 0) return ['clientTools', ...path]
    return i === undefined ? ['tools'] : ['tools', ofPage[Number(i)] ?? i, ...toolField(rest)]
  },
  retryOf: ['messages'],
  threadId: ['id'],
  instructions: ['system'],
  externalThreadId: ['id'],
  idempotencyKey: ['messages'],
})

const messageShape = z.object({
  id: text(200, 1),
  role: z.enum(['user', 'assistant'], 'must be user or assistant; the agent has its instructions'),
  parts: z.array(z.custom<JsonObject>((part) => isJsonObject(part), 'must be an object')).max(2000),
})

const pageTool = z.object({
  description: z.string().nullish(),
  parameters: z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema').nullish(),
})

const ofAgent = z.null('is set by the agent; leave it out').optional()

const shape = z.object({
  id: text(200, 1),
  messages: z.array(messageShape).min(1).max(1000),
  trigger: z.enum(['submit-message', 'regenerate-message']),
  messageId: z.string().nullish(),
  clientTools: z.unknown().optional(),
  // As assistant-ui sends the tools and the instructions of a page.
  tools: z.record(z.string(), pageTool).nullish(),
  system: text(100_000).nullish(),
  model: ofAgent,
  temperature: ofAgent,
  toolChoice: ofAgent,
})

/** Throws INVALID, with the path of the fault, for anything that would not be done as it says. */
export function readChat(body: Json | undefined): ChatRequest {
  const given = check(shape, body ?? {}, [])
  const ofPage = Object.entries(given.tools ?? {}).map(([name, { description, parameters }]) => ({
    name,
    description,
    inputSchema: parameters,
  }))
  if (given.clientTools && ofPage.length > 0) throw invalidAt(['tools'], 'cannot be given beside clientTools')
  const last = given.messages.at(-1)!
  const at = ['messages', String(given.messages.length - 1)]
  const messages = given.messages.map((message, i) => ({
    id: message.id,
    role: message.role,
    ...(message.role === 'user'
      ? userContent(message.parts, ['messages', String(i), 'parts'])
      : { text: textIn(message.parts), files: [] }),
  }))
  const answers = last.role === 'assistant' ? answersIn(last.parts, [...at, 'parts']) : null
  if (answers && answers.outputs.length + answers.verdicts.length === 0)
    throw invalidAt(
      at,
      'must be a message of the user, or have an output or an answer that the run waits for',
    )
  return {
    chatId: given.id,
    isAgain: given.trigger === 'regenerate-message' || given.messageId === last.id,
    messages,
    answers,
    names: namesOf(ofPage.map(({ name }) => name)),
    // Its shape is checked with the run that it is for.
    settings: {
      ...(given.clientTools ? { clientTools: given.clientTools as StartGenerationInput['clientTools'] } : {}),
      ...(ofPage.length > 0 ? { clientTools: ofPage } : {}),
      ...(given.system ? { instructions: given.system } : {}),
    },
    ignored: isJsonObject(body) ? unknownFields(body, shape.shape) : [],
  }
}

function textIn(parts: readonly JsonObject[]): string {
  return parts
    .flatMap((part) => (part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : []))
    .join('\n')
}

function userContent(parts: readonly JsonObject[], path: string[]): Pick<TurnMessage, 'text' | 'files'> {
  const files = parts.flatMap((part, i): GivenFile[] => {
    const { type, url, filename } = part
    if (type === 'text') return []
    if (type !== 'file')
      throw invalidAt(
        [...path, String(i), 'type'],
        'must be text or file: other parts of a message are not kept here',
      )
    return [fileOfUrl(url, typeof filename === 'string' ? filename : null, [...path, String(i), 'url'])]
  })
  const found = textIn(parts)
  if (!found) throw invalidAt(path, 'must have text')
  return { text: found, files }
}

/** The answers in the last step of our message: those before it were given to earlier pauses. */
function answersIn(parts: readonly JsonObject[], path: string[]): GivenAnswers {
  const from = parts.findLastIndex((part) => part['type'] === 'step-start') + 1
  const answers: GivenAnswers = { outputs: [], verdicts: [] }
  parts.slice(from).forEach((part, i) => {
    if (typeof part['type'] !== 'string' || !part['type'].startsWith('tool-')) return
    const at = [...path, String(from + i)]
    const { state, providerExecuted } = part
    if (state === 'approval-responded') answers.verdicts.push(verdictOf(part, at))
    else if (providerExecuted !== true && (state === 'output-available' || state === 'output-error'))
      answers.outputs.push(outputOf(part, at))
  })
  return answers
}

function outputOf(part: JsonObject, at: string[]): GivenAnswers['outputs'][number] {
  const { toolCallId, state, output, errorText } = part
  if (typeof toolCallId !== 'string' || kindOfId(toolCallId) !== 'toolCall')
    throw invalidAt([...at, 'toolCallId'], 'is not the id of a call of a run')
  if (state === 'output-available') return { toolCallId, output: output ?? null, path: [...at, 'output'] }
  if (typeof errorText !== 'string') throw invalidAt([...at, 'errorText'], 'must be a text')
  return { toolCallId, output: errorText, isError: true, path: [...at, 'errorText'] }
}

function verdictOf(part: JsonObject, at: string[]): GivenAnswers['verdicts'][number] {
  const { id, approved, reason } = isJsonObject(part['approval']) ? part['approval'] : ({} as JsonObject)
  const shown = readQuestionId(id)
  if (!shown) throw invalidAt([...at, 'approval', 'id'], 'is not the id of a question of a run')
  if (typeof approved !== 'boolean') throw invalidAt([...at, 'approval', 'approved'], 'must be true or false')
  return { ...shown, approve: approved, reason: typeof reason === 'string' ? reason : null }
}
