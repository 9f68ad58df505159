/** One agent's address: which era asks, in which session, and what it may see. */
import type { IncomingMessage } from 'node:http'
import { isLegacyRequest } from '@modelcontextprotocol/server'
import type { Log } from '../../core/log.ts'
import { asText, isJsonObject, type JsonObject } from '../../core/json.ts'
import type { Ctx } from '../../domain/access/index.ts'
import {
  closeConversation,
  newConversation,
  type Conversation,
  type Subscriptions,
  type Surfaces,
} from '../../domain/bridge/index.ts'
import { webRequest, type Answer } from './adapter.ts'
import { agentServer } from './agent-server.ts'
import { isAnswer, type Asks } from './asks.ts'
import type { Changes, Updates } from './changes.ts'
import { codes, rpcError } from './errors.ts'
import { asksForList, withList } from './list-text.ts'
import { legacyLeg, modernLeg } from './legs.ts'
import { headerMismatch } from './param-headers.ts'
import type { OpenStreams } from './open-streams.ts'
import { askedFor } from './resource-updates.ts'
import type { Sessions } from './sessions.ts'
import type { Askable, Times, Visit } from './visit.ts'

/** A request by somebody known, with its body. */
export interface Knock {
  request: IncomingMessage
  body: unknown
  ctx: Ctx
  url: string
  gone: AbortSignal
  /** Fires when the answer is complete, or nobody is there to hear the rest. */
  over: AbortSignal
}

interface Parts {
  surfaces: Surfaces
  sessions: Sessions
  asks: Asks
  changes: Changes
  streams: OpenStreams
  subscriptions: Subscriptions
  times: Times
  log: Log
}

export interface AgentPlace {
  serve(knock: Knock, agentId: string): Promise<Answer>
}

export function createAgentPlace(parts: Parts): AgentPlace {
  return {
    async serve(knock, agentId) {
      const surface = await parts.surfaces.of(knock.ctx, agentId)
      const web = webRequest(knock.request, knock.url, knock.gone, acceptOf(knock.request))
      const visit: Visit = {
        ...parts,
        ctx: knock.ctx,
        agentId,
        surface,
        era: 'modern',
        seed: isSeed(knock, surface.agent.mcp?.errorProfile),
        streams: wantsStream(knock.request),
        gone: knock.gone,
        calledOff: null,
        lists: asksForList(knock.body),
        session: null,
        askable: null,
      }
      const legacy = knock.request.method !== 'POST' || (await isLegacyRequest(web, knock.body))
      if (legacy)
        return serveLegacy(parts, { ...visit, era: 'legacy' }, knock, { request: web, body: knock.body })
      return serveModern(parts, visit, knock, web)
    },
  }
}

async function serveModern(
  { changes, streams, subscriptions, log }: Parts,
  visit: Visit,
  knock: Knock,
  request: Request,
): Promise<Answer> {
  const { agentId, surface, ctx } = visit
  const mismatch = paramFault(visit, knock)
  if (mismatch) return { response: mismatch }
  const message = isJsonObject(knock.body) ? knock.body : {}
  const asked = message['method'] === 'subscriptions/listen' ? askedFor(message, surface.offers) : null
  if (asked) changes.assertQuota()
  const bus = changes.busOf(agentId, (tell) => subscriptions.watch(ctx, agentId, asked?.uris ?? [], tell))
  const body = asked?.body ?? knock.body
  const leg = modernLeg({ make: () => agentServer(visit), bus, log }, { request, body })
  if (asked) streams.keep(ctx.principal, () => void leg.close().catch(() => {}), knock.over)
  const response = await leg.response
  return visit.lists ? withList(response, visit) : { response }
}

/** 400 when a header disagrees with the argument that it repeats. */
function paramFault({ surface }: Visit, { request, body }: Knock): Response | null {
  const message = isJsonObject(body) && body['method'] === 'tools/call' ? body : null
  const params = message?.['params']
  if (!message || !isJsonObject(params)) return null
  const entry = surface.byName.get(asText(params['name']))
  const fault = entry && headerMismatch(request.headers, entry.inputSchema, params['arguments'])
  if (!fault) return null
  const id = message['id'] as string | number
  return Response.json(rpcError(id, codes.headerMismatch, fault, { type: 'header_mismatch' }), {
    status: 400,
  })
}

async function serveLegacy(
  { sessions, asks, changes, streams, subscriptions }: Parts,
  visit: Visit,
  { request, body, ctx, over }: Knock,
  inbound: { request: Request; body: unknown },
): Promise<Answer> {
  const { agentId } = visit
  const given = request.headers['mcp-session-id']?.toString() ?? null
  const session = given === null ? null : await sessions.find(ctx, agentId, given)
  if (given !== null && !session) return { response: noSession() }
  if (request.method === 'GET') {
    if (!visit.streams)
      return { response: refusedMethod('A GET asks for a stream: accept text/event-stream.') }
    changes.assertQuota()
    const follow: Updates = (tell) => (session ? subscriptions.follow(ctx, agentId, session, tell) : () => {})
    const ended = new AbortController()
    streams.keep(ctx.principal, () => ended.abort(), over)
    return { response: changes.stream(agentId, AbortSignal.any([visit.gone, ended.signal]), follow) }
  }
  if (request.method === 'DELETE') return { response: await end(ctx, agentId, session) }
  const message = isJsonObject(body) ? body : null
  if (given !== null && message?.['method'] === 'notifications/cancelled')
    sessions.callOff(ctx, given, (message['params'] as JsonObject | undefined)?.['requestId'])
  if (given !== null && message && isAnswer(message)) {
    asks.answer(ctx, given, message)
    return { response: new Response(null, { status: 202 }) }
  }
  const watched =
    given !== null && message?.['id'] !== undefined ? sessions.calledOff(ctx, given, message['id']) : null
  const known: Visit = {
    ...visit,
    session,
    calledOff: watched?.signal ?? null,
    askable: session && given !== null && visit.streams ? askableOf(asks, visit, given, session) : null,
  }
  // A stream says when it ends; an answer in one piece is complete when it is there.
  const response = await legacyLeg(
    () => agentServer(known),
    inbound,
    known.lists || !known.streams,
    () => watched?.forget(),
  )
  if (known.lists) return withList(response, known)
  const starts = message?.['method'] === 'initialize' && given === null && response.ok
  return {
    response,
    ...(starts
      ? { headers: { 'mcp-session-id': newConversation(ctx, agentId, capabilitiesIn(message)) } }
      : {}),
  }
}

function capabilitiesIn(message: JsonObject): object {
  const params = message['params']
  const found = isJsonObject(params) ? params['capabilities'] : null
  return isJsonObject(found) ? found : {}
}

/** A client with a session and a stream: what it said that it can do, and the way to ask it. */
function askableOf(
  asks: Asks,
  { ctx, gone }: Visit,
  sessionId: string,
  { askable }: Conversation,
): Askable | null {
  if (askable.length === 0) return null
  return {
    capabilities: Object.fromEntries(askable.map((name) => [name, {}])),
    ask: (question, send) => asks.put(ctx, sessionId, question, send, gone),
  }
}

async function end(ctx: Ctx, agentId: string, session: Conversation | null): Promise<Response> {
  if (!session) return refusedMethod('A DELETE ends a session: send its Mcp-Session-Id.')
  await closeConversation(ctx, agentId, session)
  return new Response(null, { status: 204 })
}

function noSession(): Response {
  const body = rpcError(null, codes.invalidRequest, 'This session does not exist or is over.', {
    type: 'session_not_found',
  })
  return Response.json(body, { status: 404 })
}

function refusedMethod(message: string): Response {
  const body = rpcError(null, codes.invalidRequest, message, { type: 'method_not_allowed' })
  return Response.json(body, { status: 405, headers: { allow: 'POST' } })
}

/** A caller in the style of S1 names no protocol version, no session, and puts nothing of the protocol into the body. */
function isSeed({ request, body }: Knock, profile: 'AUTO' | 'SPEC' | 'SEED' = 'AUTO'): boolean {
  if (profile !== 'AUTO') return profile === 'SEED'
  const { headers } = request
  const plain = headers['mcp-protocol-version'] === undefined && headers['mcp-session-id'] === undefined
  const params = isJsonObject(body) ? body['params'] : undefined
  return plain && !(isJsonObject(params) && params['_meta'] !== undefined)
}

function wantsStream({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('text/event-stream') ?? false
}

/** The SDK wants both kinds named; a caller with fewer headers gets one answer in one piece. */
function acceptOf({ headers, method }: IncomingMessage): string | undefined {
  return method === 'POST' && headers['mcp-protocol-version'] !== '2026-07-28'
    ? 'application/json, text/event-stream'
    : headers.accept
}
