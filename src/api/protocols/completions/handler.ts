/** OpenAI's chat completions over the runs of agents: a model is an agent, and a conversation is known by its messages. */
import type { ServerResponse } from 'node:http'
import { AppError, invalidAt } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/json.ts'
import { asAppError, type Ctx } from '../../../domain/access/index.ts'
import { findAgentToStart } from '../../../domain/agents/index.ts'
import type { Generation } from '../../../domain/generations/index.ts'
import type { ApiCall, ApiReply, ApiRoute, AuthenticatedRequest } from '../../http/authenticated-api.ts'
import { disconnectSignal } from '../../http/replies.ts'
import { ignoredHeaders, joinsOf, noteDelivered, patienceOf } from '../segments/requests.ts'
import { inNamesOf } from '../segments/input-names.ts'
import { keyOf, openaiError } from '../segments/openai-requests.ts'
import { openEventStream } from '../segments/sse.ts'
import { Answer, chunk, completion, usageChunk, type AnswerFacts } from './answer.ts'
import { beginAnswer } from './begin.ts'
import { readConversation } from './conversation.ts'
import { names, readRequest } from './input.ts'
import { streamAnswer, type Ending, type Deltas } from './stream-answer.ts'

export const completionRoutes: readonly ApiRoute[] = [
  { method: 'POST', path: '/v1/chat/completions', run: create },
]

/** An answer on its way to a client. */
interface PendingAnswer extends AnswerFacts {
  answer: Answer
  deltas: Deltas
  headers: Record<string, string>
}

async function create({ request, response }: ApiCall): Promise<ApiReply | null> {
  const { ctx, headers } = request
  const body = (await request.body()) ?? {}
  if (!isJsonObject(body)) throw invalidAt(['body'], 'must be a JSON object')
  const given = readRequest(body)
  const answer = new Answer(tellsCallsOf(request))
  const asked = performance.now()
  const gateMs = gateMsOf(request, given.stream)
  const agent = await findAgentToStart(ctx, given.model)
  const conversation = await readConversation(ctx, agent, given)
  const retries = Number(headers['x-stainless-retry-count'] ?? 0)
  const how = { idempotencyKey: keyOf(request), joins: joinsOf(request), isRetry: retries > 0 }
  const begun = await inNamesOf(names, () => beginAnswer(ctx, given, conversation, how))
  const repeats = !given.stream && headers['prefer'] === undefined ? retries : 0
  const keptUntil = asked + Math.min(gateMs, shownMs(ctx, repeats, begun.generation))
  const deltas = await streamAnswer(ctx, conversation, begun, answer, keptUntil, request.disconnected)
  const pending = { ...given, ...begun, answer, deltas, headers: ignoredHeaders(ctx, given.ignored) }
  return given.stream ? stream(ctx, response, pending) : whole(ctx, response, pending)
}

async function whole(
  ctx: Ctx,
  response: ServerResponse,
  { deltas, answer, headers, ...facts }: PendingAnswer,
): Promise<ApiReply> {
  let next = await deltas.next()
  while (!next.done) next = await deltas.next()
  const ending = next.value
  if (!ending) throw cutOff()
  const sent = () => noteAnswered(ctx, response, ending)
  if (ending.failure) return { ...ending.failure, headers, sent }
  return { status: 200, body: completion(facts, answer), headers, sent }
}

/** Sends the answer while it is made; the run does not depend on the stream. */
async function stream(ctx: Ctx, response: ServerResponse, pending: PendingAnswer): Promise<null> {
  const { deltas, answer, headers, ...facts } = pending
  const writer = openEventStream(response, () => {}, headers)
  try {
    await writer.send(chunk(facts, { role: 'assistant', content: '' }))
    let next = await deltas.next()
    for (; !next.done; next = await deltas.next()) await writer.send(chunk(facts, next.value))
    const ending = next.value
    if (!ending) throw cutOff()
    if (ending.failure) await writer.send(ending.failure.body)
    else {
      await writer.send(chunk(facts, {}, answer.finishReason))
      if (facts.tellsUsage) await writer.send(usageChunk(facts, answer))
    }
    if (!response.destroyed) await noteAnswered(ctx, response, ending)
    await writer.sendText('[DONE]')
  } catch (error) {
    const known = asAppError(error)
    if (!known) throw error
    await writer.send(openaiError(known))
  }
  if (!response.destroyed) writer.end()
  return null
}

/** The client has gone, or may not read the run any more, or this process stops. */
const cutOff = () =>
  new AppError('UNAVAILABLE', 'The answer was cut off. Send the same request again to go on with its run.')

async function noteAnswered(ctx: Ctx, response: ServerResponse, { answered }: Ending): Promise<void> {
  const disconnected = disconnectSignal(response)
  for (const run of answered) await noteDelivered(ctx, run, disconnected)
}

/**
 * How long a client waits that repeats its request by itself, as its tries have shown: those of OpenAI keep the time limit that they
 * were opened with to themselves. A little less than that, since pauses are between the tries. Milliseconds; Infinity when nothing is known.
 */
function shownMs({ clock }: Ctx, retries: number, { createdAt }: Generation): number {
  const shown = retries > 0 ? ((clock.now() - createdAt.getTime()) / retries) * 0.9 - 1000 : 0
  return shown > 0 ? shown : Infinity
}

/** How long a gate keeps a client by default, in milliseconds: Node's fetch and Open WebUI give up after five minutes. */
const longestGateMs = 270_000

/**
 * How long a gate keeps this client: as it prefers, or a little less than it says that it waits for the first byte, which a stream
 * has at once.
 */
function gateMsOf(request: AuthenticatedRequest, isStream: boolean): number {
  const waits = Number(request.headers['x-stainless-timeout'] ?? 0) * 900
  return patienceOf(request, !isStream && waits > 0 ? Math.min(longestGateMs, waits) : longestGateMs)
}

/** Whether the client is told of calls that run here too, with `Gatehouse-Tool-Calls: all`. INVALID for other values. */
function tellsCallsOf({ headers }: AuthenticatedRequest): boolean {
  const value = headers['gatehouse-tool-calls'] ?? 'own'
  if (value !== 'own' && value !== 'all') throw invalidAt(['Gatehouse-Tool-Calls'], 'must be own or all')
  return value === 'all'
}
