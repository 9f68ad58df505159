/** OpenAI's Responses API over the runs of agents: create, stream, retrieve, resume and cancel; and /v1/models. */
import type { ServerResponse } from 'node:http'
import { invalidAt, notFound } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/json.ts'
import { everyRow } from '../../../core/page.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { findAgentToStart, listAgents, type Agent } from '../../../domain/agents/index.ts'
import { cancelGeneration } from '../../../domain/generations/index.ts'
import {
  decodePathPart,
  type ApiCall,
  type AuthenticatedApi,
  type ApiReply,
  type AuthenticatedRequest,
} from '../../http/authenticated-api.ts'
import { disconnectSignal } from '../../http/replies.ts'
import { ignoredHeaders, joinsOf, noteDelivered } from '../segments/requests.ts'
import { inNamesOf } from '../segments/input-names.ts'
import { endsSegment, readSegment, runOf } from '../segments/segment-log.ts'
import { segmentOf } from '../segments/segments.ts'
import { keyOf, openaiError } from '../segments/openai-requests.ts'
import { openEventStream } from '../segments/sse.ts'
import { beginSegment } from './create.ts'
import { readRequest } from './input.ts'
import { createRendering, type SegmentFacts } from './render.ts'

/** How long a request without a stream waits for the end of its segment, in milliseconds; then the response is in progress. */
const waitMs = 540_000
/** The same for a cancelled one. */
const cancelMs = 5000

export const responsesApi: AuthenticatedApi = {
  resource: '/v1',
  routes: [
    { method: 'POST', path: '/v1/responses', run: create },
    { method: 'GET', path: '/v1/responses/{id}', head: true, run: retrieve },
    { method: 'POST', path: '/v1/responses/{id}/cancel', run: cancel },
    { method: 'GET', path: '/v1/models', head: true, run: listModels },
    { method: 'GET', path: '/v1/models/{model}', head: true, run: getModel },
  ],
  errorBody: openaiError,
}

async function create({ request, response }: ApiCall): Promise<ApiReply | null> {
  const { ctx } = request
  const body = (await request.body()) ?? {}
  if (!isJsonObject(body)) throw invalidAt(['body'], 'must be a JSON object')
  const given = readRequest(body)
  const { segment, generation } = await inNamesOf(given.names, () =>
    beginSegment(ctx, given, body, { idempotencyKey: keyOf(request), joins: joinsOf(request) }),
  )
  const { model, background, previousId } = given
  const facts: SegmentFacts = { segment, generation, model, background, previousId }
  const headers = ignoredHeaders(ctx, given.ignored)
  if (given.stream) return stream(ctx, response, facts, -1, headers)
  return { ...(await whole(request, facts, background ? 0 : waitMs)), headers }
}

async function retrieve({ request, response, params }: ApiCall): Promise<ApiReply | null> {
  const { ctx, query } = request
  const facts = await factsOf(ctx, params['id']!)
  if (query.get('stream') !== 'true') return whole(request, facts, 0)
  const after = query.get('starting_after') ?? '-1'
  if (!/^(-1|\d{1,15})$/.test(after)) throw invalidAt(['starting_after'], 'must be the number of an event')
  return stream(ctx, response, facts, Number(after))
}

async function cancel({ request, params }: ApiCall): Promise<ApiReply> {
  const facts = await factsOf(request.ctx, params['id']!)
  await cancelGeneration(request.ctx, { generationId: facts.generation.id, reason: null })
  return whole(request, facts, cancelMs)
}

/** The segment of an id. NOT_FOUND alike for what is no id, does not exist, or belongs to somebody else. */
async function factsOf(ctx: Ctx, id: string): Promise<SegmentFacts> {
  const segment = segmentOf('resp', id)
  if (!segment) throw notFound('response', id)
  const generation = await runOf(ctx, segment, id)
  return { segment, generation, model: generation.agentId, background: true, previousId: null }
}

/** The response when its segment has ended, or as it is after so many milliseconds. */
async function whole(
  { ctx, disconnected }: AuthenticatedRequest,
  facts: SegmentFacts,
  forMs: number,
): Promise<ApiReply> {
  const rendering = createRendering(facts)
  const over = new AbortController()
  const timer = forMs > 0 ? setTimeout(() => over.abort(), forMs) : undefined
  const signal = AbortSignal.any([disconnected, over.signal])
  // Who asked for a response in the background has it.
  let isAnswer = facts.background
  try {
    for await (const one of await readSegment(ctx, facts.generation, facts.segment, forMs > 0, signal)) {
      rendering.add(one)
      isAnswer ||= endsSegment(one)
    }
  } finally {
    clearTimeout(timer)
  }
  const body = rendering.response()
  return {
    status: 200,
    body,
    ...(isAnswer ? { sent: () => noteDelivered(ctx, facts.generation, disconnected) } : {}),
  }
}

/** Sends the events of the segment after a number, until it ends or the client goes; the run does not depend on it. */
async function stream(
  ctx: Ctx,
  response: ServerResponse,
  facts: SegmentFacts,
  startingAfter: number,
  headers: Record<string, string> = {},
): Promise<null> {
  const rendering = createRendering(facts, startingAfter)
  const gone = new AbortController()
  // Its refusal still has a status of its own.
  const runUpdates = await readSegment(ctx, facts.generation, facts.segment, true, gone.signal)
  const writer = openEventStream(response, () => gone.abort(), headers)
  const send = async (events: ReturnType<typeof rendering.begin>) => {
    for (const event of events) if (!(await writer.send(event, event.type))) return false
    return true
  }
  if (await send(rendering.begin()))
    for await (const one of runUpdates) {
      if (!(await send(rendering.add(one)))) break
      if (endsSegment(one)) await noteDelivered(ctx, facts.generation, disconnectSignal(response))
    }
  if (response.destroyed) gone.abort()
  else writer.end()
  return null
}

async function getModel({ request: { ctx }, params }: ApiCall): Promise<ApiReply> {
  return {
    status: 200,
    body: modelOf(await findAgentToStart(ctx, decodePathPart(params['model']!, 'agent'))),
  }
}

async function listModels({ request: { ctx } }: ApiCall): Promise<ApiReply> {
  const agents = await everyRow((page) => listAgents(ctx, { page }))
  return { status: 200, body: { object: 'list', data: agents.map(modelOf) } }
}

function modelOf({ name, createdAt }: Agent): object {
  return { id: name, object: 'model', created: Math.floor(createdAt.getTime() / 1000), owned_by: 'gatehouse' }
}
