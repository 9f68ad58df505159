/**
 * Requests to an agent's endpoint in both eras. Modern: one message each, and `subscriptions/listen`. Legacy: POST
 * carries messages, GET opens the notification stream, DELETE ends the session.
 */
import { asText, isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { ModernRequest, LegacyRequest } from '../http/agent-request.ts'
import { agentServer } from './agent-server.ts'
import { codes, rpcError } from '../http/errors.ts'
import type { Reply } from '../http/node-http.ts'
import { headerMismatch } from '../http/mcp-request.ts'
import { limitFilter } from './upstream-features.ts'
import { isToolsList, withToolsList, rememberList } from './fast-tools-list.ts'
import { serveModern, serveLegacy } from '../http/transports.ts'
import { closeSession, newSessionId } from '../../../domain/bridge/index.ts'
import { isClientResponse } from '../http/server-requests.ts'

export async function serveModernAgent(request: ModernRequest): Promise<Reply> {
  const { message, webRequest, body, runtime } = request
  const mismatch = refuseMismatch(request)
  if (mismatch) return { response: mismatch }
  if (message?.['method'] === 'subscriptions/listen') return { response: await listen(request, message) }
  const server = () => agentServer(request)
  const response = await serveModern(server, { request: webRequest(), body }, runtime.log).response
  if (!isToolsList(body)) return { response }
  return rememberList(request.surface, request, await withToolsList(response, request))
}

/** Opens a stream of change notifications. It ends with the caller's key, and when this process closes. */
async function listen(request: ModernRequest, message: JsonObject): Promise<Response> {
  const { runtime, ctx, agentId, surface, webRequest, ended } = request
  const { changes, subscriptions, streams, log } = runtime
  const { body, uris } = limitFilter(message, surface.features)
  changes.assertQuota()
  let close = () => {}
  // Refuses a key with too many streams: what has begun by then would go on without anybody who reads or ends it.
  streams.register(ctx.principal, () => close(), ended)
  const bus = changes.eventBus(agentId, (onUpdated) => subscriptions.watch(ctx, agentId, uris, onUpdated))
  const served = serveModern(() => agentServer(request), { request: webRequest(), body }, log, bus)
  close = () => void served.close().catch(() => {})
  return served.response
}

/** 400 when a header disagrees with the argument that it repeats (SEP-2243). */
export function refuseMismatch({ surface, http, message }: ModernRequest): Response | null {
  const params = message?.['method'] === 'tools/call' ? message['params'] : null
  if (!message || !isJsonObject(params)) return null
  const entry = surface.byName.get(asText(params['name']))
  const mismatch = entry && headerMismatch(http.headers, entry.inputSchema, params['arguments'])
  if (!mismatch) return null
  const id = message['id'] as string | number
  const error = rpcError(id, codes.headerMismatch, mismatch, { type: 'header_mismatch' })
  return Response.json(error, { status: 400 })
}

/** Legacy requests to an agent's endpoint: POST carries messages, GET opens the notification stream, DELETE ends the session. */
export async function serveLegacyAgent(request: LegacyRequest): Promise<Reply> {
  if (request.http.method === 'GET') return { response: openStream(request) }
  if (request.http.method === 'DELETE') return { response: await endSession(request) }
  const { session, message, ctx, runtime } = request
  if (session && message) {
    if (message['method'] === 'notifications/cancelled') cancelRequest(request, message)
    if (isClientResponse(message)) {
      runtime.serverRequests.receive(ctx, session, message)
      return { response: new Response(null, { status: 202 }) }
    }
  }
  return serveMessage(request)
}

async function serveMessage(request: LegacyRequest): Promise<Reply> {
  const { webRequest, body, message, ctx, agentId, session } = request
  const toolsList = isToolsList(body)
  const asJson = toolsList || !request.acceptsStream
  const response = await serveLegacy(() => agentServer(request), { request: webRequest(), body }, asJson)
  if (toolsList) return withToolsList(response, request)
  if (message?.['method'] !== 'initialize' || session || !response.ok) return { response }
  return { response, headers: { 'mcp-session-id': newSessionId(ctx, agentId, capabilitiesIn(message)) } }
}

function cancelRequest({ runtime, ctx, session }: LegacyRequest, { params }: JsonObject): void {
  const requestId = isJsonObject(params) ? params['requestId'] : undefined
  runtime.sessions.cancel(ctx, session!, requestId)
}

/** A stream of change notifications. It ends with the caller's key, and when this process closes. */
function openStream(request: LegacyRequest): Response {
  if (!request.acceptsStream) return methodNotAllowed('A GET opens a stream: accept text/event-stream.')
  const { runtime, ctx, agentId, session, disconnected, ended } = request
  const { changes, streams, subscriptions } = runtime
  changes.assertQuota()
  const revoked = new AbortController()
  streams.register(ctx.principal, () => revoked.abort(), ended)
  return changes.stream(agentId, AbortSignal.any([disconnected, revoked.signal]), (onUpdated) =>
    session ? subscriptions.watchSession(ctx, agentId, session, onUpdated) : () => {},
  )
}

async function endSession({ ctx, agentId, session }: LegacyRequest): Promise<Response> {
  if (!session) return methodNotAllowed('A DELETE ends a session: send its Mcp-Session-Id.')
  await closeSession(ctx, agentId, session)
  return new Response(null, { status: 204 })
}

function methodNotAllowed(message: string): Response {
  const body = rpcError(null, codes.invalidRequest, message, { type: 'method_not_allowed' })
  return Response.json(body, { status: 405, headers: { allow: 'POST' } })
}

function capabilitiesIn({ params }: JsonObject): object {
  const capabilities = isJsonObject(params) ? params['capabilities'] : null
  return isJsonObject(capabilities) ? capabilities : {}
}
