/** OpenAI's Assistants API over threads and runs: begin, poll, submit, cancel, and read messages. No streams. */
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { Ctx } from '../../domain/access/index.ts'
import { findAgentToStart } from '../../domain/agents/index.ts'
import {
  cancelGeneration,
  getGenerations,
  getThreads,
  isTerminal,
  listGenerations,
  listThreadMessages,
  startGeneration,
  submitToolOutputs,
  type Generation,
  type Thread,
  type ThreadMessage,
} from '../../domain/generations/index.ts'
import type { KeyedApi, KeyedReply, KeyedRequest } from '../keyed.ts'
import { keyOf, openaiError } from '../runs/openai-requests.ts'
import { readOutputs, readRun, readThreadAndRun, type GivenRun } from './input.ts'
import { shownMessage, shownRun, shownThread } from './shapes.ts'

/** How often the official clients poll, in milliseconds; their own default is five seconds. */
const pollAfterMs = '50'

const path =
  /^\/v1\/threads(?:\/([^/]{1,80})(?:\/(messages|runs)(?:\/([^/]{1,80})(?:\/(cancel|submit_tool_outputs))?)?)?)?$/

/** It stands before the Responses API, which serves the rest of /v1. */
export const assistantsApi: KeyedApi = {
  resource: '/v1',
  serves: (at) => at === '/v1/threads' || at.startsWith('/v1/threads/'),
  serve,
  errorBody: openaiError,
}

async function serve(request: KeyedRequest): Promise<KeyedReply> {
  const { ctx } = request
  const [found, threadId, part, id, act] = path.exec(request.path) ?? []
  if (!found) throw notFound('resource', request.path)
  const method = request.method === 'HEAD' ? 'GET' : request.method
  if (method === 'POST' && threadId === 'runs' && !part) return begin(request)
  if (method === 'GET' && threadId && !part)
    return { status: 200, body: shownThread(await threadOf(ctx, threadId)) }
  if (method === 'GET' && part === 'messages' && !id) return messages(request, threadId!)
  if (method === 'POST' && part === 'runs' && !id) return goOn(request, threadId!)
  if (part === 'runs' && id) {
    const run = await runOf(ctx, threadId!, id)
    if (method === 'GET' && !act) return reply(ctx, run)
    if (method === 'POST' && act === 'cancel')
      return reply(ctx, await cancelGeneration(ctx, { generationId: run.id, reason: null }))
    if (method === 'POST' && act === 'submit_tool_outputs') return submit(request, run)
  }
  throw invalidAt(
    [method, found],
    'is not served: begin a thread with POST /v1/threads/runs, and add messages to it with additional_messages of a run',
  )
}

async function begin(request: KeyedRequest): Promise<KeyedReply> {
  const body = await bodyOf(request)
  return start(request, readThreadAndRun(body), body, null)
}

/** CONFLICT while another run of the thread goes on, as OpenAI refuses it: so a retry cannot begin a second one. */
async function goOn(request: KeyedRequest, threadId: string): Promise<KeyedReply> {
  const body = await bodyOf(request)
  const given = readRun(body)
  const { projectId, id } = await threadOf(request.ctx, threadId)
  if (!request.idempotencyKey) {
    const page = { limit: 1, inverted: false }
    const [newest] = await listGenerations(request.ctx, { projectId, filter: { threadId: id }, page })
    if (newest && !isTerminal(newest.storedStatus))
      throw new AppError('CONFLICT', `Thread ${id} already has an active run ${newest.id}.`)
  }
  return start(request, given, { ...body, threadId }, id)
}

async function start(
  request: KeyedRequest,
  { assistant, settings }: GivenRun,
  body: JsonObject,
  threadId: string | null,
): Promise<KeyedReply> {
  const { ctx } = request
  const key = keyOf(request)
  const agent = await findAgentToStart(ctx, assistant)
  const run = await startGeneration(
    ctx,
    {
      agentId: agent.id,
      ...settings,
      ...(threadId ? { threadId } : {}),
      ...(key ? { idempotencyKey: key } : {}),
    },
    { operation: 'assistants:Run', request: body },
  )
  return reply(ctx, run)
}

/** All outputs or none. The same ones again change nothing; different ones are refused, and the first ones hold. */
async function submit(request: KeyedRequest, run: Generation): Promise<KeyedReply> {
  const outputs = readOutputs(await bodyOf(request))
  const { generation, outcomes } = await submitToolOutputs(request.ctx, {
    generationId: run.id,
    outputs,
    atomic: true,
  })
  const refused = outcomes.find(({ error }) => error)?.error
  if (refused) throw new AppError(refused.code, refused.message)
  return reply(request.ctx, generation)
}

async function messages({ ctx, query }: KeyedRequest, threadId: string): Promise<KeyedReply> {
  const thread = await threadOf(ctx, threadId)
  for (const name of query.keys())
    if (!['limit', 'order', 'after'].includes(name)) throw invalidAt([name], 'is not served')
  const [limit, order, after] = [query.get('limit') ?? '20', query.get('order') ?? 'desc', query.get('after')]
  if (!/^([1-9]\d?|100)$/.test(limit)) throw invalidAt(['limit'], 'must be 1 to 100')
  if (order !== 'asc' && order !== 'desc') throw invalidAt(['order'], 'must be asc or desc')
  const found = await messagesAfter(ctx, thread, after, order === 'desc', Number(limit) + 1)
  const data = found.slice(0, Number(limit)).map((one) => shownMessage(thread.id, one))
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
  return { status: 200, body: { object: 'list', data, ...ends, has_more: found.length > data.length } }
}

/** The messages behind one of them: its place in the list is found by reading up to it. */
async function messagesAfter(
  ctx: Ctx,
  thread: Thread,
  id: string | null,
  inverted: boolean,
  limit: number,
): Promise<ThreadMessage[]> {
  const read = (last: ThreadMessage | null | undefined, size: number) => {
    const after = last ? { at: last.createdAt.getTime(), id: last.id } : undefined
    return listThreadMessages(ctx, thread, { after, limit: size, inverted })
  }
  if (id === null) return read(null, limit)
  for (let last: ThreadMessage | undefined; ;) {
    const some = await read(last, 100)
    const place = some.find((one) => one.id === id)
    if (place) return read(place, limit)
    last = some.at(-1)
    if (!last || some.length < 100) throw invalidAt(['after'], 'is not the id of a message of this thread')
  }
}

async function threadOf(ctx: Ctx, id: string): Promise<Thread> {
  const [thread] = await getThreads(ctx, [id])
  if (!thread) throw notFound('thread', id)
  return thread
}

/** NOT_FOUND also for a run of another thread. */
async function runOf(ctx: Ctx, threadId: string, id: string): Promise<Generation> {
  const [run] = await getGenerations(ctx, [id])
  if (!run || run.threadId !== threadId) throw notFound('run', id)
  return run
}

async function reply(ctx: Ctx, run: Generation): Promise<KeyedReply> {
  return { status: 200, body: await shownRun(ctx, run), headers: { 'openai-poll-after-ms': pollAfterMs } }
}

async function bodyOf(request: KeyedRequest): Promise<JsonObject> {
  const body = (await request.body()) ?? {}
  if (!isJsonObject(body)) throw invalidAt(['body'], 'must be a JSON object')
  return body
}
