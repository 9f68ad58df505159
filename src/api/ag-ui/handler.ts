/**
 * AG-UI 1.0 over the runs of agents, for front ends. A thread has the client's own id, and every run
 * of AG-UI is a part of a run here, up to the next pause or the end.
 */
import type { ServerResponse } from 'node:http'
import { notFound, type AppError } from '../../core/errors.ts'
import { findAgentToStart } from '../../domain/agents/index.ts'
import { decoded, type KeyedApi, type KeyedReply, type KeyedRequest } from '../keyed.ts'
import { followRun } from '../runs/follow.ts'
import { endsLeg, type Happening } from '../runs/leg-log.ts'
import { openEventStream } from '../runs/sse.ts'
import { beginPart } from './begin.ts'
import { RunRendering, type AgUiEvent } from './events.ts'
import { readInput } from './input.ts'

const path = /^\/ag-ui\/([^/]{1,600})$/

export const agUiApi: KeyedApi = {
  resource: '/ag-ui',
  serves: (at) => at === '/ag-ui' || at.startsWith('/ag-ui/'),
  serve,
  errorBody,
}

/** The client of AG-UI puts the body into the message of its error. */
function errorBody({ code, message, details }: AppError): object {
  const at = details.issues?.[0]?.path.join('.')
  return { error: { code, message, ...(at ? { path: at } : {}) } }
}

async function serve(request: KeyedRequest, response: ServerResponse): Promise<KeyedReply | null> {
  const [, named] = path.exec(request.path) ?? []
  if (!named) throw notFound('resource', request.path)
  if (request.method !== 'POST')
    return {
      status: 405,
      body: { error: { code: 'INVALID', message: 'Method not allowed.' } },
      headers: { allow: 'POST' },
    }
  const agent = await findAgentToStart(request.ctx, decoded(named, 'agent'))
  return run(request, response, agent)
}

/** Sends what happens until the run ends or waits for this client. The run does not depend on the stream. */
async function run(
  { ctx, body }: KeyedRequest,
  response: ServerResponse,
  agent: Awaited<ReturnType<typeof findAgentToStart>>,
): Promise<null> {
  const given = readInput(await body())
  const { generation, leg } = await beginPart(ctx, agent, given)
  const rendering = new RunRendering(given, given.seen, generation.id)
  const gone = new AbortController()
  // Its refusal still has a status of its own.
  const happenings = await followRun(ctx, generation, leg, gone.signal)
  const writer = openEventStream(response, () => gone.abort())
  const put = async (events: AgUiEvent[]) => {
    for (const event of events) if (!(await writer.send(event))) return false
    return true
  }
  let last: Happening | null = null
  if (await put(rendering.begin()))
    for await (const one of happenings) {
      last = one
      if (!(await put(rendering.add(one)))) break
    }
  if (response.destroyed) gone.abort()
  else if (last && endsLeg(last) && last.is !== 'end') await put(rendering.pause())
  writer.end()
  return null
}
