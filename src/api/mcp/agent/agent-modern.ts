/** Modern requests to an agent's endpoint: one message each, and `subscriptions/listen`, whose response is a stream. */
import { asText, isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { ModernRequest } from '../http/agent-request.ts'
import { agentServer } from './agent-server.ts'
import { codes, rpcError } from '../http/errors.ts'
import type { Reply } from '../http/node-http.ts'
import { headerMismatch } from '../http/param-headers.ts'
import { limitFilter } from './resource-subscriptions.ts'
import { isToolsList, withToolsList } from './tools-list-cache.ts'
import { rememberList } from './tools-list-memo.ts'
import { serveModern } from '../http/transports.ts'

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
