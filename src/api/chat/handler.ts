/**
 * Chat front ends of the AI SDK: the UI message stream over the runs of agents, for DefaultChatTransport and useChat. A
 * chat is a thread with the client's own id, and each of its answers a run.
 */
import type { ServerResponse } from 'node:http'
import { notFound, type AppError } from '../../core/errors.ts'
import type { Ctx } from '../../domain/access/index.ts'
import { findAgentToStart, type Agent } from '../../domain/agents/index.ts'
import { cancelGeneration, isTerminal } from '../../domain/generations/index.ts'
import { decoded, type KeyedApi, type KeyedReply, type KeyedRequest } from '../keyed.ts'
import type { StartedLeg } from '../runs/answers.ts'
import { followRun } from '../runs/follow.ts'
import { endsLeg, type Happening } from '../runs/leg-log.ts'
import { openEventStream } from '../runs/sse.ts'
import { newestRun } from '../runs/thread-runs.ts'
import { beginPart } from './begin.ts'
import { MessageRendering, type Chunk } from './chunks.ts'
import { readChat } from './input.ts'

/** For how long a run that ended is sent to a page that asks for it again, in milliseconds: the page may have missed its end. */
const replayMs = 10 * 60_000

const path = /^\/api\/chat\/([^/]{1,600})(?:\/([^/]{1,600})\/stream)?$/

export const chatApi: KeyedApi = {
  resource: '/api/chat',
  serves: (at) => at === '/api/chat' || at.startsWith('/api/chat/'),
  serve,
  errorBody,
}

/** The AI SDK shows the body as the message of its error. */
function errorBody({ code, message, details }: AppError): object {
  const at = details.issues?.[0]?.path.join('.')
  return { error: { code, message, ...(at ? { path: at } : {}) } }
}

async function serve(request: KeyedRequest, response: ServerResponse): Promise<KeyedReply | null> {
  const [found, named, chat] = path.exec(request.path) ?? []
  if (!found) throw notFound('resource', request.path)
  const { ctx, method } = request
  const allowed = chat === undefined ? ['POST'] : ['GET', 'DELETE']
  if (!allowed.includes(method))
    return {
      status: 405,
      body: { error: { code: 'INVALID', message: 'Method not allowed.' } },
      headers: { allow: allowed.join(', ') },
    }
  const agent = await findAgentToStart(ctx, decoded(named!, 'agent'))
  if (chat === undefined) return send(request, response, agent)
  const run = await newestRun(ctx, agent, decoded(chat, 'chat'))
  if (!run || (run.finishedAt && ctx.clock.now() - run.finishedAt.getTime() > replayMs))
    return { status: 204 }
  if (method === 'GET')
    return stream(ctx, response, { generation: run, leg: { generationId: run.id, after: 0 } }, [])
  if (!isTerminal(run.storedStatus)) await cancelGeneration(ctx, { generationId: run.id, reason: null })
  return { status: 204 }
}

async function send(request: KeyedRequest, response: ServerResponse, agent: Agent): Promise<null> {
  const given = readChat(await request.body())
  const started = await beginPart(request.ctx, agent, given)
  const known = (given.answers?.outputs ?? []).map(({ toolCallId }) => toolCallId)
  return stream(request.ctx, response, started, known)
}

/**
 * Sends what happens from a place of the run on, until the run ends or waits for this client. The run does not depend on
 * the stream.
 */
async function stream(
  ctx: Ctx,
  response: ServerResponse,
  { generation, leg }: StartedLeg,
  known: string[],
): Promise<null> {
  const rendering = new MessageRendering(known)
  const gone = new AbortController()
  // Its refusal still has a status of its own.
  const happenings = await followRun(ctx, generation, leg, gone.signal)
  const writer = openEventStream(response, () => gone.abort(), { 'x-vercel-ai-ui-message-stream': 'v1' })
  const put = async (chunks: Chunk[]) => {
    for (const chunk of chunks) if (!(await writer.send(chunk))) return false
    return true
  }
  let last: Happening | null = null
  if (await put(rendering.begin(generation)))
    for await (const one of happenings) {
      last = one
      if (!(await put(rendering.add(one)))) break
    }
  if (response.destroyed) gone.abort()
  if (last && endsLeg(last)) {
    await put(last.is === 'end' ? [] : rendering.pause())
    await writer.sendText('[DONE]')
  }
  writer.end()
  return null
}
