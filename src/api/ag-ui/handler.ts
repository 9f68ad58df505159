/**
 * AG-UI 1.0 over the runs of agents, for front ends. A thread has the client's own id, and every run
 * of AG-UI is a part of a run here, up to the next pause or the end.
 */
import type { ServerResponse } from 'node:http'
import { notFound, type AppError } from '../../core/errors.ts'
import { findAgentToStart } from '../../domain/agents/index.ts'
import { decoded, type KeyedApi, type KeyedReply, type KeyedRequest } from '../keyed.ts'
import { RunRendering, type ClientTraits } from './events.ts'
import { beginPart } from './begin.ts'
import { readInput } from './input.ts'
import { sendRuns } from './send-runs.ts'

const client: ClientTraits = { isCurrent: true, runsOpenCalls: false, isAskedLast: false }

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

async function run(
  { ctx, body }: KeyedRequest,
  response: ServerResponse,
  agent: Awaited<ReturnType<typeof findAgentToStart>>,
): Promise<null> {
  const given = readInput(await body())
  const { generation, leg } = await beginPart(ctx, agent, given)
  const rendering = new RunRendering(given, given.seen, generation.id, client)
  return sendRuns(ctx, response, [{ generation, leg, rendering, opening: rendering.begin() }])
}
