/** OpenAI's Responses API over the runs of agents: create, stream, retrieve, resume and cancel; and /v1/models. */
import type { ServerResponse } from 'node:http'
import { invalidAt, notFound } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Ctx } from '../../domain/access/index.ts'
import { findAgentToStart, listAgents, type Agent } from '../../domain/agents/index.ts'
import { cancelGeneration } from '../../domain/generations/index.ts'
import { decoded, type KeyedApi, type KeyedReply, type KeyedRequest } from '../keyed.ts'
import { readLeg, runOf } from '../runs/leg-log.ts'
import { legOf } from '../runs/legs.ts'
import { keyOf, openaiError, openaiFault } from '../runs/openai-requests.ts'
import { openEventStream } from '../runs/sse.ts'
import { beginLeg } from './create.ts'
import { readRequest } from './input.ts'
import { createRendering, type LegFacts } from './render.ts'

/** How long a request without a stream waits for the end of its leg, in milliseconds; then the response is in progress. */
const waitMs = 540_000
/** The same for a cancelled one. */
const cancelMs = 5000

const path = /^\/v1\/(?:responses(?:\/([^/]{1,80})(\/cancel)?)?|models(?:\/([^/]{1,200}))?)$/

export const responsesApi: KeyedApi = {
  resource: '/v1',
  serves: (at) => at === '/v1' || at.startsWith('/v1/'),
  serve,
  errorBody: openaiError,
}

async function serve(request: KeyedRequest, response: ServerResponse): Promise<KeyedReply | null> {
  const { ctx } = request
  const [found, id, cancels, model] = path.exec(request.path) ?? []
  const method = request.method === 'HEAD' ? 'GET' : request.method
  if (!found) throw notFound('resource', request.path)
  const isModels = found.startsWith('/v1/models')
  if (isModels && method === 'GET') return models(ctx, model)
  if (found === '/v1/responses' && method === 'POST') return create(request, response)
  if (id && cancels && method === 'POST') return cancel(request, id)
  if (id && !cancels && method === 'GET') return retrieve(request, response, id)
  const allow = (id && !cancels) || isModels ? 'GET' : 'POST'
  return { status: 405, body: openaiFault(405, 'Method not allowed.', 'invalid', null), headers: { allow } }
}

async function create(request: KeyedRequest, response: ServerResponse): Promise<KeyedReply | null> {
  const { ctx } = request
  const body = (await request.body()) ?? {}
  if (!isJsonObject(body)) throw invalidAt(['body'], 'must be a JSON object')
  const given = readRequest(body)
  const { leg, generation } = await beginLeg(ctx, given, body, keyOf(request))
  const { model, background, previousId } = given
  const facts: LegFacts = { leg, generation, model, background, previousId }
  if (given.stream) return stream(ctx, response, facts, -1)
  return whole(request, facts, background ? 0 : waitMs)
}

async function retrieve(
  request: KeyedRequest,
  response: ServerResponse,
  id: string,
): Promise<KeyedReply | null> {
  const { ctx, query } = request
  const facts = await factsOf(ctx, id)
  if (query.get('stream') !== 'true') return whole(request, facts, 0)
  const after = query.get('starting_after') ?? '-1'
  if (!/^(-1|\d{1,15})$/.test(after)) throw invalidAt(['starting_after'], 'must be the number of an event')
  return stream(ctx, response, facts, Number(after))
}

async function cancel(request: KeyedRequest, id: string): Promise<KeyedReply> {
  const facts = await factsOf(request.ctx, id)
  await cancelGeneration(request.ctx, { generationId: facts.generation.id, reason: null })
  return whole(request, facts, cancelMs)
}

/** The leg of an id. NOT_FOUND alike for what is no id, does not exist, or belongs to somebody else. */
async function factsOf(ctx: Ctx, id: string): Promise<LegFacts> {
  const leg = legOf('resp', id)
  if (!leg) throw notFound('response', id)
  const generation = await runOf(ctx, leg, id)
  return { leg, generation, model: generation.agentId, background: true, previousId: null }
}

/** The response when its leg has ended, or as it is after so many milliseconds. */
async function whole(
  { ctx, disconnected }: KeyedRequest,
  facts: LegFacts,
  forMs: number,
): Promise<KeyedReply> {
  const rendering = createRendering(facts)
  const over = new AbortController()
  const timer = forMs > 0 ? setTimeout(() => over.abort(), forMs) : undefined
  const signal = AbortSignal.any([disconnected, over.signal])
  try {
    for await (const one of await readLeg(ctx, facts.generation, facts.leg, forMs > 0, signal))
      rendering.add(one)
  } finally {
    clearTimeout(timer)
  }
  return { status: 200, body: rendering.response() }
}

/** Sends the events of the leg after a number, until it ends or the client goes; the run does not depend on it. */
async function stream(
  ctx: Ctx,
  response: ServerResponse,
  facts: LegFacts,
  startingAfter: number,
): Promise<null> {
  const rendering = createRendering(facts, startingAfter)
  const gone = new AbortController()
  // Its refusal still has a status of its own.
  const happenings = await readLeg(ctx, facts.generation, facts.leg, true, gone.signal)
  const writer = openEventStream(response, () => gone.abort())
  const send = async (events: ReturnType<typeof rendering.begin>) => {
    for (const event of events) if (!(await writer.send(event, event.type))) return false
    return true
  }
  if (await send(rendering.begin()))
    for await (const one of happenings) if (!(await send(rendering.add(one)))) break
  if (response.destroyed) gone.abort()
  else writer.end()
  return null
}

const mostModels = 1000

async function models(ctx: Ctx, named: string | undefined): Promise<KeyedReply> {
  if (named !== undefined)
    return { status: 200, body: modelOf(await findAgentToStart(ctx, decoded(named, 'agent'))) }
  const agents = await listAgents(ctx, { page: { limit: mostModels, inverted: false } })
  return { status: 200, body: { object: 'list', data: agents.slice(0, mostModels).map(modelOf) } }
}

function modelOf({ name, createdAt }: Agent): object {
  return { id: name, object: 'model', created: Math.floor(createdAt.getTime() / 1000), owned_by: 'gatehouse' }
}
