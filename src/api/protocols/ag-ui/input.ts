/** Reads the input of an AG-UI run. What would not be kept is refused and named. */
import { z } from 'zod'
import { check, text } from '../../../core/check.ts'
import { invalidAt } from '../../../core/errors.ts'
import { kindOfId } from '../../../core/ids.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'
import type { StartGenerationInput } from '../../../domain/generations/index.ts'
import { fileOfBase64, fileOfUrl, type GivenFile } from '../segments/given-files.ts'
import { toolField, type InputNames } from '../segments/input-names.ts'
import { runOfMessage, readQuestionId } from '../segments/presentation.ts'
import type { TurnMessage } from '../segments/thread-runs.ts'
import { resultMessageId, type ClientHistory } from './events.ts'

export interface AgUiInput {
  threadId: string
  runId: string
  /** Messages of the user and the assistant, in order. */
  messages: TurnMessage[]
  /** Whether the last message is the user's, and new: one of a run has the id that it got here. */
  asks: boolean
  /** Results of calls at the end of the messages, ours among them. */
  results: GivenResult[]
  /** Results of calls that are followed by other messages. INVALID as for those at the end. */
  earlierResults(): GivenResult[]
  answers: InterruptAnswer[]
  /** What the client has already. */
  seen: ClientHistory
  settings: Omit<StartGenerationInput, 'agentId'>
  /** Whether the client says that it speaks 1.0 or later: those before say nothing, and refuse what they do not know. */
  isCurrent: boolean
}

export interface GivenResult {
  toolCallId: string
  output: Json
  isError: boolean
  /** Whether the client got it here: somebody else has given it. */
  isTold?: boolean
  path?: string[]
}

/** `cancelled`: the question was given up. */
export type InterruptAnswer =
  | { id: string; cancelled: true }
  | {
      id: string
      digest: string | null
      cancelled: false
      approved: boolean
      reason: string | null
      editedArgs: JsonObject | null
    }

const json = z.unknown()
const isEmpty = (value: unknown) =>
  value === undefined || value === null || (isJsonObject(value) && Object.keys(value).length === 0)

const messageShape = z.looseObject({ id: text(200, 1), role: z.string().max(40), content: json.optional() })

const shape = z.looseObject({
  threadId: text(200, 1),
  runId: text(200, 1),
  protocolVersion: json.optional(),
  messages: z.array(messageShape).max(2000),
  tools: z
    .array(
      z.looseObject({
        name: z.string(),
        description: z.string().nullish(),
        parameters: z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema').nullish(),
      }),
    )
    .nullish(),
  context: z
    .array(z.looseObject({ description: z.string(), value: z.string() }))
    .max(100)
    .nullish(),
  state: z.custom(isEmpty, 'is not kept here: leave it out, or empty').optional(),
  resume: z
    .array(
      z.looseObject({
        interruptId: z.string(),
        status: z.enum(['resolved', 'cancelled']),
        payload: json.optional(),
      }),
    )
    .max(100)
    .nullish(),
})

/** Where an input has the inputs of the operations. */
export const names: InputNames = {
  messages: ['messages'],
  attachments: ['messages'],
  outputs: ['messages'],
  clientTools: ([i, ...rest]) => (i === undefined ? ['tools'] : ['tools', i, ...toolField(rest)]),
  instructions: ['context'],
  threadId: ['threadId'],
  externalThreadId: ['threadId'],
  arguments: (rest) => ['resume', 'payload', 'editedArgs', ...rest],
  reason: ['resume', 'payload', 'reason'],
}

/** Throws INVALID, with the path of the fault, for anything that would not be done as it says. */
export function readInput(body: Json | undefined): AgUiInput {
  const given = check(shape, body ?? {}, [])
  const messages: AgUiInput['messages'] = []
  const seen: ClientHistory = { texts: new Map(), calls: new Set(), begun: new Set(), results: new Set() }
  const instructions = (given.context ?? []).map(({ description, value }) => `${description}: ${value}`)
  given.messages.forEach((message, i) => {
    const at = ['messages', String(i)]
    const { id, role } = message
    if (role === 'user') messages.push({ id, role, ...userContent(message.content, [...at, 'content']) })
    else if (role === 'assistant') {
      const said = contentOf(message.content ?? '', [...at, 'content'], false)
      messages.push({ id, role, text: said, files: [] })
      seen.texts.set(id, said.length)
      for (const { id: callId, function: made } of listOf(message['toolCalls'])) {
        if (typeof callId !== 'string') continue
        seen.calls.add(callId)
        if (isJsonObject(made) && made['arguments'] === '') seen.begun.add(callId)
      }
    } else if (role === 'tool') seen.results.add(String(message['toolCallId']))
    else if (role === 'system' || role === 'developer')
      instructions.push(contentOf(message.content, [...at, 'content'], true))
    else if (role !== 'reasoning' && role !== 'activity')
      throw invalidAt([...at, 'role'], 'must be user, assistant, tool, system or developer')
  })
  const last = given.messages.at(-1)
  const tools = (given.tools ?? []).map(({ name, description, parameters }) => ({
    name,
    description: description || null,
    inputSchema: parameters,
  }))
  return {
    threadId: given.threadId,
    runId: given.runId,
    messages,
    asks: last?.role === 'user' && runOfMessage(last.id) === null,
    results: resultsAtEnd(given.messages),
    earlierResults: () => earlierResults(given.messages),
    answers: (given.resume ?? []).map((entry, i) => answerOf(entry, ['resume', String(i)])),
    seen,
    isCurrent: typeof given.protocolVersion === 'string',
    settings: {
      ...(tools.length > 0 ? { clientTools: tools } : {}),
      ...(instructions.length > 0 ? { instructions: instructions.join('\n\n') } : {}),
    },
  }
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : []
}

const media = ['image', 'audio', 'video', 'document']
const isMedia = (part: unknown): part is JsonObject =>
  isJsonObject(part) && media.includes(String(part['type']))

/** Text, and parts with bytes. */
function userContent(content: unknown, path: string[]): Pick<TurnMessage, 'text' | 'files'> {
  const files = (Array.isArray(content) ? content : []).flatMap((part: unknown, i) =>
    isMedia(part) ? [fileOfSource(part['source'], [...path, String(i), 'source'])] : [],
  )
  return { text: contentOf(content, path, true, isMedia), files }
}

function fileOfSource(source: unknown, path: string[]): GivenFile {
  const { type, value, mimeType } = isJsonObject(source) ? source : ({} as JsonObject)
  if (type === 'url' || type === 'file') return fileOfUrl(value, null, [...path, 'value'])
  if (type !== 'data' || typeof mimeType !== 'string')
    throw invalidAt(path, 'must be data with its mimeType, a url or a file')
  return fileOfBase64(value, mimeType, null, [...path, 'value'])
}

/** The text of a message; parts that `isOther` are passed over. */
function contentOf(
  content: unknown,
  path: string[],
  isNeeded: boolean,
  isOther: (part: unknown) => boolean = () => false,
): string {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  if (!Array.isArray(parts)) throw invalidAt(path, 'must be a text or a list of parts')
  const texts = parts.flatMap((part: unknown, i) => {
    if (isOther(part)) return []
    if (isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string') return part['text']
    throw invalidAt([...path, String(i), 'type'], 'must be text: other parts of a message are not kept here')
  })
  const found = texts.join('\n')
  if (isNeeded && !found) throw invalidAt(path, 'must have text')
  return found
}

type GivenMessage = z.output<typeof messageShape>

const firstAtEnd = (messages: GivenMessage[]) => messages.findLastIndex(({ role }) => role !== 'tool') + 1

function resultsAtEnd(messages: GivenMessage[]): GivenResult[] {
  const from = firstAtEnd(messages)
  return messages.slice(from).map((message, i) => resultOf(message, ['messages', String(from + i)]))
}

/** Those of calls that the page made up are passed over. */
function earlierResults(messages: GivenMessage[]): GivenResult[] {
  return messages.slice(0, firstAtEnd(messages)).flatMap((message, i) => {
    const isOurs = message.role === 'tool' && kindOfId(String(message['toolCallId'])) === 'toolCall'
    return isOurs ? [resultOf(message, ['messages', String(i)])] : []
  })
}

function resultOf({ id, toolCallId, error, content }: Record<string, unknown>, at: string[]): GivenResult {
  if (typeof toolCallId !== 'string' || kindOfId(toolCallId) !== 'toolCall')
    throw invalidAt([...at, 'toolCallId'], 'is not the id of a call of a run')
  const isError = typeof error === 'string' && error !== ''
  const said = contentOf(content ?? '', [...at, 'content'], false)
  const isTold = id === resultMessageId(toolCallId)
  return { toolCallId, output: said || (isError ? error : ''), isError, isTold, path: [...at, 'content'] }
}

function answerOf(
  { interruptId, status, payload }: { interruptId: string; status: string; payload?: unknown },
  at: string[],
): InterruptAnswer {
  const shown = readQuestionId(interruptId)
  if (!shown) throw invalidAt([...at, 'interruptId'], 'is not the id of a question of a run')
  const { approvalId: id, digest } = shown
  if (status === 'cancelled') return { id, cancelled: true }
  const { approved, editedArgs, reason } = isJsonObject(payload) ? payload : ({} as JsonObject)
  if (typeof approved !== 'boolean') throw invalidAt([...at, 'payload', 'approved'], 'must be true or false')
  const isEdit = editedArgs !== undefined && editedArgs !== null
  if (isEdit && (!isJsonObject(editedArgs) || !approved))
    throw invalidAt([...at, 'payload', 'editedArgs'], 'must be an object, and only with approved: true')
  return {
    id,
    digest,
    cancelled: false,
    approved,
    reason: typeof reason === 'string' ? reason : null,
    editedArgs: isEdit ? (editedArgs as JsonObject) : null,
  }
}
