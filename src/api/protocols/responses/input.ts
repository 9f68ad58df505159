/**
 * Reads the body of a request for a response. What would change the run and cannot be done is refused and named; what
 * changes nothing is ignored and named.
 */
import { check } from '../../../core/check.ts'
import { invalidAt } from '../../../core/errors.ts'
import { kindOfId } from '../../../core/ids.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'
import type { StartGenerationInput } from '../../../domain/generations/index.ts'
import { fileOfUrl, type GivenFile } from '../segments/given-files.ts'
import { unknownFields } from '../segments/requests.ts'
import { toolField, type InputNames } from '../segments/input-names.ts'
import { overridesOf, placeOf } from '../segments/openai-requests.ts'
import { runOfMessage, readQuestionId } from '../segments/presentation.ts'
import { callOfItem } from './items.ts'
import { requestShape } from './request-shape.ts'

type Message = { role: 'USER' | 'ASSISTANT'; content: string }

/** An item that the input names by an id of ours. */
export type OwnItem = { approvalId: string } | { callId: string } | { generationId: string }

export interface GivenInput {
  messages: Message[]
  /** The newest item of ours. */
  newest: OwnItem | null
  /** How many messages stand before the newest item of ours that is no answer: its thread has them. */
  known: number
  /** The id of that item, when the input has nothing of it but the id. */
  reference: string | null
  /** Texts of system and developer messages. */
  instructions: string[]
  /** Files of the last message, and of those before it. */
  files: GivenFile[]
  earlierFiles: GivenFile[]
  outputs: { toolCallId: string; output: Json; path: string[] }[]
  verdicts: { approvalId: string; digest: string | null; approve: boolean; reason: string | null }[]
  /** Paths of items that change nothing. */
  ignored: string[]
}

export interface GivenRequest {
  model: string
  stream: boolean
  background: boolean
  previousId: string | null
  input: GivenInput
  /** The overrides for a new run. */
  settings: Omit<StartGenerationInput, 'agentId'>
  /** Where the request has the inputs of the operations. */
  names: InputNames
  /** Fields that change nothing of what runs. */
  ignored: string[]
}

/** `places`: those of the function tools among all. */
const namesOf = (places: readonly number[]): InputNames => ({
  agentId: ['model'],
  messages: ['input'],
  attachments: ['input'],
  outputs: ['input'],
  reason: ['input'],
  clientTools: ([i, ...rest]) =>
    i === undefined ? ['tools'] : ['tools', String(places[Number(i)] ?? i), ...toolField(rest)],
  instructions: ['instructions'],
  toolChoice: ['tool_choice'],
  stepRules: ['tool_choice'],
  parallelToolCalls: ['parallel_tool_calls'],
  temperature: ['temperature'],
  maxOutputTokens: ['max_output_tokens'],
  outputSchema: (rest) => ['text', 'format', 'schema', ...rest],
  threadId: ['previous_response_id'],
  idempotencyKey: ['Idempotency-Key'],
})

/** Throws INVALID, with the path of the fault, for anything that would not be done as it says. */
export function readRequest(body: JsonObject): GivenRequest {
  const given = check(requestShape, body, [])
  const { input } = given
  const tools = given.tools ?? []
  const functions = tools.filter((one) => one.type === 'function')
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  const read = readInput(items)
  const instructions = [given.instructions ?? '', ...read.instructions].filter(Boolean).join('\n\n')
  const format = given.text?.format
  return {
    model: given.model,
    stream: given.stream ?? false,
    background: given.background ?? false,
    previousId: given.previous_response_id ?? null,
    input: read,
    names: namesOf(tools.flatMap((one, i) => (one.type === 'function' ? [i] : []))),
    ignored: [
      ...unknownFields(body, requestShape.shape),
      ...(['metadata', 'include', 'reasoning'] as const).filter((name) => !isEmpty(given[name])),
      // Every run is stored.
      ...(given.store === false ? ['store'] : []),
      ...tools.flatMap((one, i) => (one.type === 'function' || one.type === 'mcp' ? [] : `tools[${i}]`)),
      ...read.ignored,
    ],
    settings: overridesOf({
      instructions,
      functions,
      choice: given.tool_choice,
      parallel: given.parallel_tool_calls,
      temperature: given.temperature,
      maxOutputTokens: given.max_output_tokens,
      outputSchema: format?.type === 'json_schema' ? format.schema : null,
    }),
  }
}

/** Whether a field that is ignored says nothing. */
function isEmpty(value: unknown): boolean {
  return value == null || Object.keys(value).length === 0
}

function readInput(items: readonly unknown[]): GivenInput {
  const read: GivenInput = {
    messages: [],
    newest: null,
    known: 0,
    reference: null,
    instructions: [],
    files: [],
    earlierFiles: [],
    outputs: [],
    verdicts: [],
    ignored: [],
  }
  items.forEach((item, i) => {
    if (!isJsonObject(item)) throw invalidAt(['input', String(i)], 'must be an object')
    readItem(item, ['input', String(i)], read)
  })
  return read
}

function readItem(item: JsonObject, path: string[], read: GivenInput): void {
  const { type = 'message', id, role } = item
  const own = typeof id === 'string' ? ownItem(id) : null
  if (own) Object.assign(read, { newest: own, known: read.messages.length, reference: null })
  if (type === 'item_reference') {
    if (own) read.reference = String(id)
    return
  }
  // The thoughts of another model.
  if (type === 'reasoning') return void read.ignored.push(placeOf(path))
  if (type === 'function_call' || type === 'mcp_call' || type === 'mcp_approval_request') {
    const callId = item['call_id']
    if (typeof callId === 'string' && kindOfId(callId) === 'toolCall')
      Object.assign(read, { newest: { callId }, known: read.messages.length, reference: null })
    return
  }
  if (type === 'function_call_output') {
    const toolCallId = idAt(item, 'call_id', 'toolCall', path)
    read.newest = { callId: toolCallId }
    const output = outputOf(item['output'] ?? null, path)
    read.outputs.push({ toolCallId, output, path: [...path, 'output'] })
    return
  }
  if (type === 'mcp_approval_response') {
    const shown = readQuestionId(item['approval_request_id'])
    if (!shown)
      throw invalidAt([...path, 'approval_request_id'], 'is not the id of a call or question of a response')
    const { approve, reason } = item
    if (typeof approve !== 'boolean') throw invalidAt([...path, 'approve'], 'must be true or false')
    read.newest = { approvalId: shown.approvalId }
    read.verdicts.push({ ...shown, approve, reason: typeof reason === 'string' ? reason : null })
    return
  }
  if (type !== 'message') throw invalidAt([...path, 'type'], 'is an item that is not kept here')
  const { text, files } = contentOf(item['content'] ?? null, [...path, 'content'])
  if (role === 'system' || role === 'developer') read.instructions.push(text)
  else if (role === 'assistant') read.messages.push({ role: 'ASSISTANT', content: text || '(no text)' })
  else if (role === 'user') {
    if (!text) throw invalidAt([...path, 'content'], 'must have text')
    // What came before was answered before this message.
    const earlierFiles = [...read.earlierFiles, ...read.files]
    Object.assign(read, { outputs: [], verdicts: [], files, earlierFiles })
    read.messages.push({ role: 'USER', content: text })
  } else throw invalidAt([...path, 'role'], 'must be user, assistant, system or developer')
}

function ownItem(id: string): OwnItem | null {
  const [generationId, callId, question] = [runOfMessage(id), callOfItem(id), readQuestionId(id)]
  if (generationId) return { generationId }
  if (callId) return { callId }
  return question && { approvalId: question.approvalId }
}

function idAt(item: JsonObject, name: string, kind: 'toolCall' | 'approval', path: string[]): string {
  const id = item[name]
  if (typeof id !== 'string' || kindOfId(id) !== kind)
    throw invalidAt([...path, name], 'is not the id of a call or question of a response')
  return id
}

/** A text is the output itself; a list of parts is joined as far as it is text. */
function outputOf(output: Json, path: string[]): Json {
  if (!Array.isArray(output)) return output
  return output
    .map((part, i) => {
      if (isJsonObject(part) && typeof part['text'] === 'string') return part['text']
      throw invalidAt([...path, 'output', String(i), 'type'], 'must be input_text')
    })
    .join('\n')
}

function contentOf(content: Json, path: string[]): { text: string; files: GivenFile[] } {
  if (typeof content === 'string') return { text: content, files: [] }
  if (!Array.isArray(content)) throw invalidAt(path, 'must be a text or a list of parts')
  const texts: string[] = []
  const files: GivenFile[] = []
  content.forEach((part, i) => {
    const at = [...path, String(i)]
    if (!isJsonObject(part)) throw invalidAt(at, 'must be an object')
    const { text, type, file_id: fileId, filename } = part
    const name = typeof filename === 'string' ? filename : null
    if (typeof text === 'string') texts.push(text)
    else if (typeof fileId === 'string') files.push({ fileId, path: [...at, 'file_id'] })
    else if (type === 'input_image') files.push(fileOfUrl(part['image_url'], null, [...at, 'image_url']))
    else if (type === 'input_file') files.push(fileOfUrl(part['file_data'], name, [...at, 'file_data']))
    else throw invalidAt([...at, 'type'], 'must be input_text, input_image or input_file')
  })
  return { text: texts.join('\n'), files }
}
