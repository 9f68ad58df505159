/** OpenAI's Assistants API over agents, threads and runs, for programs that were written for it. */
import type { ServerResponse } from 'node:http'
import { notFound } from '../../core/errors.ts'
import { findAgentToStart, listAgents } from '../../domain/agents/index.ts'
import { decoded, type KeyedApi, type KeyedReply, type KeyedRequest } from '../keyed.ts'
import { openaiError, openaiFault } from '../runs/openai-requests.ts'
import { listBody, pageOf, readListing } from './lists.ts'
import { beginThread, cancelRun, goOn, listRuns, retrieveRun, submit } from './runs.ts'
import { shownAssistant } from './shapes.ts'
import { listSteps, retrieveStep } from './steps.ts'
import { addMessage, createThread, listMessages, retrieveMessage, retrieveThread } from './threads.ts'

/** A reply, or null when the response was written as a stream. `ids` are those of the path. */
type Serve = (request: KeyedRequest, ids: string[], response: ServerResponse) => Promise<KeyedReply | null>

const threads = '/v1/threads'
const runs = `${threads}/:id/runs`

/** The first pattern that fits a path is the resource. */
const routes: [pattern: string, methods: { GET?: Serve; POST?: Serve }][] = [
  ['/v1/assistants', { GET: assistants }],
  ['/v1/assistants/:id', { GET: assistant }],
  [threads, { POST: createThread }],
  [`${threads}/runs`, { POST: beginThread }],
  [`${threads}/:id`, { GET: retrieveThread }],
  [`${threads}/:id/messages`, { GET: listMessages, POST: addMessage }],
  [`${threads}/:id/messages/:id`, { GET: retrieveMessage }],
  [runs, { GET: listRuns, POST: goOn }],
  [`${runs}/:id`, { GET: retrieveRun }],
  [`${runs}/:id/cancel`, { POST: cancelRun }],
  [`${runs}/:id/submit_tool_outputs`, { POST: submit }],
  [`${runs}/:id/steps`, { GET: listSteps }],
  [`${runs}/:id/steps/:id`, { GET: retrieveStep }],
]

const resources = routes.map(([pattern, methods]) => ({
  shape: new RegExp(`^${pattern.replaceAll(':id', '([^/]{1,200})')}$`),
  methods,
}))

/** It stands before the Responses API, which serves the rest of /v1. */
export const assistantsApi: KeyedApi = {
  resource: '/v1',
  serves: (at) => /^\/v1\/(threads|assistants)(\/|$)/.test(at),
  serve,
  errorBody: openaiError,
}

async function serve(request: KeyedRequest, response: ServerResponse): Promise<KeyedReply | null> {
  for (const { shape, methods } of resources) {
    const [found, ...ids] = shape.exec(request.path) ?? []
    if (found === undefined) continue
    const act = methods[request.method === 'HEAD' ? 'GET' : (request.method as 'GET' | 'POST')]
    if (act) return act(request, ids, response)
    const allow = Object.keys(methods).join(', ')
    const said = `${request.method} is not served here, only ${allow}. Agents are changed in GraphQL; threads and messages stay as they are.`
    return { status: 405, body: openaiFault(405, said, 'invalid', null), headers: { allow } }
  }
  throw notFound('resource', request.path)
}

/** The agents of the project. Action `agents:List`. */
async function assistants({ ctx, query }: KeyedRequest): Promise<KeyedReply> {
  const listing = readListing(query)
  const page = await pageOf(listing, 'desc', (id) => findAgentToStart(ctx, id))
  const found = await listAgents(ctx, { page })
  return { status: 200, body: listBody(found.map(shownAssistant), listing.limit) }
}

async function assistant({ ctx }: KeyedRequest, [named]: string[]): Promise<KeyedReply> {
  return { status: 200, body: shownAssistant(await findAgentToStart(ctx, decoded(named!, 'agent'))) }
}
