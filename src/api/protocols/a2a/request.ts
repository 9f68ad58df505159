/** Reads JSON-RPC requests and the parameters of A2A's methods. What would change nothing, though it is asked for, is refused. */
import { z } from 'zod'
import { check, jsonObject, text, whole } from '../../../core/check.ts'
import { invalidAt } from '../../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, jsonTooBig, writeJson } from '../../../core/json.ts'
import type { AuthenticatedRequest } from '../../http/authenticated-api.ts'
import type { GivenAnswers } from '../segments/answers.ts'
import { fileOfBase64, fileOfUrl, type GivenFile } from '../segments/given-files.ts'
import { readQuestionId } from '../segments/presentation.ts'
import { A2aError } from './errors.ts'

export interface RpcRequest {
  id: string | number
  method: string
  params: JsonObject
}

const id = text(200)
const empty = (what: string) => z.literal('', what).nullish()
const tenant = empty('is not kept: the key says which project is meant')
const historyLength = whole(0, 2 ** 31 - 1).nullish()

const part = z.object({
  text: z.string().nullish(),
  raw: z.string().nullish(),
  url: z.string().nullish(),
  data: z.unknown().optional(),
  filename: text(255).nullish(),
  mediaType: text(255).nullish(),
})

const message = z.object({
  messageId: text(200, 1),
  contextId: id.nullish(),
  taskId: id.nullish(),
  role: z.literal('ROLE_USER', 'must be ROLE_USER'),
  parts: z.array(part).min(1, 'must not be empty').max(200, 'must have at most 200 entries'),
  referenceTaskIds: z
    .array(z.unknown())
    .max(0, 'is not served; go on in the context of the task (contextId)')
    .nullish(),
})

const sending = z.object({
  tenant,
  message,
  configuration: z
    .object({
      acceptedOutputModes: z.array(text(255)).max(100).nullish(),
      taskPushNotificationConfig: z.unknown().optional(),
      historyLength,
      returnImmediately: z.boolean().nullish(),
    })
    .nullish(),
})

const ofTask = z.object({ tenant, id, historyLength })

const listing = z.object({
  tenant,
  contextId: id.nullish(),
  status: z
    .enum([
      'TASK_STATE_UNSPECIFIED',
      'TASK_STATE_SUBMITTED',
      'TASK_STATE_WORKING',
      'TASK_STATE_COMPLETED',
      'TASK_STATE_FAILED',
      'TASK_STATE_CANCELED',
      'TASK_STATE_INPUT_REQUIRED',
      'TASK_STATE_REJECTED',
      'TASK_STATE_AUTH_REQUIRED',
    ])
    .nullish(),
  pageSize: whole(1, 100).nullish(),
  pageToken: text(500).nullish(),
  historyLength,
  statusTimestampAfter: z.null('is not served; tasks are listed newest first').optional(),
  includeArtifacts: z.boolean().nullish(),
})
export type Listing = z.output<typeof listing>

/** Throws INVALID_REQUEST for anything that is no single JSON-RPC 2.0 request with an id. */
export function readRpc(body: Json | undefined): RpcRequest {
  const isRpc = isJsonObject(body) && body['jsonrpc'] === '2.0' && typeof body['method'] === 'string'
  const given = isRpc ? idOf(body) : null
  if (!isRpc || given === null)
    throw new A2aError(
      'INVALID_REQUEST',
      'The body must be one JSON-RPC 2.0 request: {"jsonrpc": "2.0", "id", "method", "params"}.',
    )
  const { params = {} } = body
  if (!isJsonObject(params)) throw invalidAt(['params'], 'must be an object')
  return { id: given, method: body['method'] as string, params }
}

/** The id of a request, as far as it can be read; null for none. */
export function idOf(body: Json | undefined): string | number | null {
  const given = isJsonObject(body) ? body['id'] : null
  if (typeof given === 'string') return given.length <= 200 ? given : null
  return typeof given === 'number' ? given : null
}

/** A request without a version is one of 0.3, says the protocol. */
export function assertVersion({ headers, query }: Pick<AuthenticatedRequest, 'headers' | 'query'>): void {
  const version = headers['a2a-version']?.toString() || query.get('A2A-Version') || '0.3'
  if (!/^1\.0(\.\d{1,5})?$/.test(version.trim()))
    throw new A2aError('VERSION_NOT_SUPPORTED', 'Send the header "A2A-Version: 1.0"; no other one is served.')
}

export function readOfTask(params: JsonObject, at: string[]): { id: string; historyLength: number | null } {
  const given = check(ofTask, params, at)
  return { id: given.id, historyLength: given.historyLength ?? null }
}

export function readListing(params: JsonObject, at: string[]): Listing {
  return check(listing, params, at)
}

export interface GivenMessage {
  messageId: string
  contextId: string | null
  taskId: string | null
  /** The message for a model: its text, and its data as JSON. */
  text: string
  files: GivenFile[]
  answers: GivenAnswers
  returnImmediately: boolean
  historyLength: number | null
  /** Where the message is in the request. */
  path: string[]
}

/** Limits of one data part. */
const dataLimits = { maxBytes: 1024 * 1024, maxDepth: 100 }
const outputModes = ['text/plain', 'text/*', 'application/json', 'application/*', '*/*']

/** Throws INVALID with the path of a fault, and A2A's own errors for files that were not uploaded and for push notifications. */
export function readMessage(params: JsonObject, at: string[]): GivenMessage {
  const given = check(sending, params, at)
  const { messageId, contextId, taskId, parts } = given.message
  const modes = given.configuration?.acceptedOutputModes ?? []
  if (modes.length > 0 && !modes.some((mode) => outputModes.includes(mode.toLowerCase())))
    throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', 'Tasks have text/plain and application/json as output.')
  const push = given.configuration?.taskPushNotificationConfig
  if (push !== undefined && push !== null) throw noPush()
  const read: GivenMessage = {
    path: [...at, 'message'],
    messageId,
    contextId: contextId || null,
    taskId: taskId || null,
    text: '',
    files: [],
    answers: { outputs: [], verdicts: [] },
    returnImmediately: given.configuration?.returnImmediately ?? false,
    historyLength: given.configuration?.historyLength ?? null,
  }
  const texts: string[] = []
  parts.forEach((one, i) => readPart(one, [...at, 'message', 'parts', String(i)], read, texts))
  const { outputs, verdicts } = read.answers
  const answered = [...outputs.map((one) => one.toolCallId), ...verdicts.map((one) => one.approvalId)]
  if (new Set(answered).size < answered.length)
    throw invalidAt([...at, 'message', 'parts'], 'answers something twice')
  return { ...read, text: texts.join('\n') }
}

export function noPush(): A2aError {
  return new A2aError(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    'Push notifications are not served here; subscribe to the task, or use webhooks of the project.',
  )
}

function readPart(one: z.output<typeof part>, path: string[], read: GivenMessage, texts: string[]): void {
  const { text: words, raw, url, data } = one
  const given = [words, raw, url, data].filter((value) => value !== undefined && value !== null)
  if (given.length !== 1) throw invalidAt(path, 'must have exactly one of text, raw, url and data')
  if (typeof words === 'string') return void texts.push(words)
  if (data !== undefined && data !== null) {
    const fault = jsonTooBig(data, dataLimits)
    if (fault) throw invalidAt([...path, 'data'], fault)
    // With a task it answers what the task asked for; without one it is input for the model.
    if (read.taskId) readAnswer(data as Json, [...path, 'data'], read.answers)
    else texts.push(writeJson(data))
    return
  }
  const name = one.filename || null
  if (typeof raw === 'string') {
    const type = one.mediaType || 'application/octet-stream'
    return void read.files.push(fileOfBase64(raw, type, name, [...path, 'raw']))
  }
  if (typeof url !== 'string' || !/^(file_|data:)/i.test(url))
    throw new A2aError(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `${path.join('.')}: nothing is fetched; send the bytes as raw, or upload them, and url is the id of the file (file_…).`,
    )
  read.files.push(fileOfUrl(url, name, [...path, 'url']))
}

const output = z.strictObject({
  toolCallId: id,
  output: z.custom<Json>((value) => value !== undefined, 'must be given'),
  isError: z.boolean().nullish(),
})
const verdict = z.strictObject({
  approvalId: text(200, 1),
  verdict: z.enum(['APPROVE', 'REJECT']),
  reason: text(2000).nullish(),
  arguments: jsonObject(dataLimits.maxBytes, dataLimits.maxDepth).nullish(),
})

function readAnswer(data: Json, path: string[], { outputs, verdicts }: GivenAnswers): void {
  if (isJsonObject(data) && 'toolCallId' in data) {
    const { isError, ...given } = check(output, data, path)
    outputs.push({ ...given, ...(isError ? { isError } : {}), path: [...path, 'output'] })
    return
  }
  if (!isJsonObject(data) || !('approvalId' in data))
    throw invalidAt(path, 'must answer the task: {toolCallId, output} or {approvalId, verdict}')
  const given = check(verdict, data, path)
  const { approvalId: shown, reason, arguments: edited } = given
  const question = readQuestionId(shown)
  if (!question) throw invalidAt([...path, 'approvalId'], 'is not the id of a question of a task')
  const approve = given.verdict === 'APPROVE'
  if (!approve && edited) throw invalidAt([...path, 'arguments'], 'goes with the verdict APPROVE only')
  verdicts.push({ ...question, approve, reason: reason ?? null, ...(edited ? { arguments: edited } : {}) })
}
