/**
 * Chat front ends of the AI SDK: the UI message stream over the runs of agents, for DefaultChatTransport and useChat. A
 * chat has the client's own id and is at one thread; each of its answers is a run.
 */
import type { ServerResponse } from 'node:http'
import type { AppError } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { findAgentToStart } from '../../../domain/agents/index.ts'
import { cancelGeneration, isTerminal, type Generation } from '../../../domain/generations/index.ts'
import {
  decodePathPart,
  type ApiCall,
  type ApiReply,
  type AuthenticatedApi,
} from '../../http/authenticated-api.ts'
import { disconnectSignal } from '../../http/replies.ts'
import type { StartedSegment } from '../segments/answers.ts'
import { followRun } from '../segments/follow.ts'
import { ignoredHeaders, noteDelivered } from '../segments/requests.ts'
import { inNamesOf } from '../segments/input-names.ts'
import { endsSegment, type RunUpdate } from '../segments/segment-log.ts'
import { openEventStream } from '../segments/sse.ts'
import { beginPart } from './begin.ts'
import { MessageRendering, type Chunk } from './chunks.ts'
import { readChat } from './input.ts'
import { newestOfChat } from './place.ts'

/** For how long a run that ended is sent to a page that asks for it again, in milliseconds: the page may have missed its end. */
const replayMs = 10 * 60_000

const streamPath = '/api/chat/{agent}/{chat}/stream'

export const chatApi: AuthenticatedApi = {
  resource: '/api/chat',
  routes: [
    { method: 'POST', path: '/api/chat/{agent}', run: send },
    { method: 'GET', path: streamPath, run: follow },
    { method: 'DELETE', path: streamPath, run: stop },
  ],
  errorBody,
}

/** The AI SDK shows the body as the message of its error. */
function errorBody({ code, message, details }: AppError): object {
  const at = details.issues?.[0]?.path.join('.')
  return { error: { code, message, ...(at ? { path: at } : {}) } }
}

const agentOf = ({ request: { ctx }, params }: ApiCall) =>
  findAgentToStart(ctx, decodePathPart(params['agent']!, 'agent'))

/** The run that a page follows or stops; null when it is long over. */
async function shownRun(call: ApiCall): Promise<Generation | null> {
  const { ctx } = call.request
  const run = await newestOfChat(ctx, await agentOf(call), decodePathPart(call.params['chat']!, 'chat'))
  return !run || (run.finishedAt && ctx.clock.now() - run.finishedAt.getTime() > replayMs) ? null : run
}

async function follow(call: ApiCall): Promise<ApiReply | null> {
  const generation = await shownRun(call)
  if (!generation) return { status: 204 }
  const segment = { generationId: generation.id, after: 0 }
  return stream(call.request.ctx, call.response, { generation, segment }, [])
}

async function stop(call: ApiCall): Promise<ApiReply> {
  const run = await shownRun(call)
  if (run && !isTerminal(run.storedStatus))
    await cancelGeneration(call.request.ctx, { generationId: run.id, reason: null })
  return { status: 204 }
}

async function send(call: ApiCall): Promise<null> {
  const { request, response } = call
  const agent = await agentOf(call)
  const given = readChat(await request.body())
  const started = await inNamesOf(given.names, () => beginPart(request.ctx, agent, given))
  const known = (given.answers?.outputs ?? []).map(({ toolCallId }) => toolCallId)
  return stream(request.ctx, response, started, known, ignoredHeaders(request.ctx, given.ignored))
}

/**
 * Sends what happens from a place of the run on, until the run ends or waits for this client. The run does not depend on
 * the stream.
 */
async function stream(
  ctx: Ctx,
  response: ServerResponse,
  { generation, segment }: StartedSegment,
  known: string[],
  headers: Record<string, string> = {},
): Promise<null> {
  const rendering = new MessageRendering(known)
  const gone = new AbortController()
  // Its refusal still has a status of its own.
  const runUpdates = await followRun(ctx, generation, segment, gone.signal)
  const writer = openEventStream(response, () => gone.abort(), {
    'x-vercel-ai-ui-message-stream': 'v1',
    ...headers,
  })
  const put = async (chunks: Chunk[]) => {
    for (const chunk of chunks) if (!(await writer.send(chunk))) return false
    return true
  }
  let last: RunUpdate | null = null
  if (await put(rendering.begin(generation)))
    for await (const one of runUpdates) {
      last = one
      if (!(await put(rendering.add(one)))) break
    }
  if (response.destroyed) gone.abort()
  if (last && endsSegment(last)) {
    const isSent = await put(last.type === 'end' ? [] : rendering.pause())
    if (isSent && (await writer.sendText('[DONE]')))
      await noteDelivered(ctx, generation, disconnectSignal(response))
  }
  writer.end()
  return null
}
