/** The bridge over HTTP: guard, credentials, and the refusals that come before the protocol. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError, notFound } from '../../core/errors.ts'
import { hasManyValues, isJsonObject, jsonTooBig, maxJsonValues } from '../../core/json.ts'
import { rateHeaders } from '../../core/rate-headers.ts'
import type { Ctx, Services } from '../../domain/access/index.ts'
import { createSubscriptions, createSurfaces } from '../../domain/bridge/index.ts'
import { goneSignal, writeAnswer, type Answer } from './adapter.ts'
import { createAgentPlace, type Knock } from './agent-place.ts'
import { createAsks } from './asks.ts'
import { createChanges } from './changes.ts'
import { challenge, resourceMetadata, secretOf } from './credentials.ts'
import { codes, rpcError, toHttpError } from './errors.ts'
import { refusalOf, type GuardRules } from './guard.ts'
import { createOpenStreams } from './open-streams.ts'
import { metadataUrl, placeOf, resourcesOf, type Place } from './places.ts'
import { servePlatform } from './platform-place.ts'
import { createSessions } from './sessions.ts'
import { usualTimes, type Times } from './visit.ts'

export interface McpOptions {
  services: Services
  /** Who is asking; throws UNAUTHENTICATED, or LIMITED when that address asks too often without a valid key. */
  contextOf(caller: Credentials): Promise<Ctx>
  /** Takes so many messages from what the caller may send; throws LIMITED with the time to wait. */
  take(ctx: Ctx, messages: number): Promise<void>
  /** The address of the client, behind proxies that are believed. */
  addressOf(request: IncomingMessage): string | null
  /** The base of the addresses that tokens are issued for. */
  publicUrl(): string
  /** The identity provider, for clients that look for one. */
  issuer: string | null
  guard: GuardRules
  times?: Partial<Times> | undefined
}

export interface Credentials {
  secret: string | null
  /** What a token may have been issued for. */
  resources: string[]
  remoteAddress: string | null
  requestId: string
}

export interface Mcp {
  /** Whether a path belongs to the bridge. */
  serves(path: string): boolean
  /** `readBody` reads the body of a POST when the sender is known; null: it was refused, and the answer with it. */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    readBody: (sender: string) => Promise<Buffer | null>,
  ): Promise<void>
  /** Ends all streams; clients come back. */
  close(): void
}

const bodyLimits = { maxBytes: 4 * 1024 * 1024, maxDepth: 100 }
const maxBatch = 50

export function makeMcp(options: McpOptions): Mcp {
  const { services } = options
  const surfaces = createSurfaces(services)
  const sessions = createSessions(services)
  const changes = createChanges(surfaces)
  const streams = createOpenStreams(services)
  const subscriptions = createSubscriptions(services, surfaces)
  const asks = createAsks(services)
  const times = { ...usualTimes, ...options.times }
  const { log } = services
  const agentPlace = createAgentPlace({
    surfaces,
    sessions,
    asks,
    changes,
    streams,
    subscriptions,
    times,
    log,
  })
  const open = async (knock: Knock, place: Place): Promise<Answer> =>
    place.kind === 'agent'
      ? agentPlace.serve(knock, place.agentId)
      : { response: await servePlatform(knock, services.log) }
  return {
    serves: (path) => placeOf(path) !== null,
    serve: (request, response, readBody) => serve(options, open, request, response, readBody),
    close() {
      streams.close()
      subscriptions.close()
      sessions.close()
      asks.close()
      surfaces.close()
    },
  }
}

async function serve(
  options: McpOptions,
  open: (knock: Knock, place: Place) => Promise<Answer>,
  request: IncomingMessage,
  response: ServerResponse,
  readBody: (sender: string) => Promise<Buffer | null>,
): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0]!
  const place = placeOf(path)!
  const over = new AbortController()
  let id: string | number | null = null
  try {
    const refusal = refusalOf(request.headers.host, request.headers.origin, options.guard)
    if (refusal)
      return send(response, 403, rpcError(id, codes.forbidden, refusal, { type: 'forbidden_origin' }))
    if (place.kind === 'metadata') return sendMetadata(options, request, response, place)
    if (!['POST', 'GET', 'DELETE'].includes(request.method!))
      return send(response, 405, refused(id, 'Method not allowed.', 'method_not_allowed'), {
        allow: 'POST, GET, DELETE',
      })
    // Before a byte of the body is looked at.
    const ctx = await options.contextOf({
      secret: secretOf(request.headers),
      resources: resourcesOf(options.publicUrl(), place),
      remoteAddress: options.addressOf(request),
      requestId: crypto.randomUUID(),
    })
    const bytes = request.method === 'POST' ? await readBody(ctx.principal.id) : undefined
    if (bytes === null) return
    if (bytes && hasManyValues(bytes))
      return send(
        response,
        400,
        refused(id, `The body has more than ${maxJsonValues} values.`, 'invalid_request'),
      )
    const body = bytes === undefined ? { value: undefined } : parsed(bytes)
    id = idOf(body?.value)
    const taken = options.take(ctx, Array.isArray(body?.value) ? body.value.length : 1)
    await taken.finally(() => tellQuota(ctx, response))
    if (body === null)
      return send(response, 400, rpcError(null, codes.parse, 'Parse error', { type: 'parse_error' }))
    const tooBig = jsonTooBig(body.value, bodyLimits) ?? batchFault(body.value)
    if (tooBig) return send(response, 400, refused(id, `The body ${tooBig}.`, 'invalid_request'))
    const url = `${options.publicUrl()}${path}`
    const gone = goneSignal(response)
    const knock = { request, body: body.value, ctx, url, gone, over: over.signal }
    await writeAnswer(response, await open(knock, place))
  } catch (error) {
    if (response.headersSent) return void response.destroy()
    sendRefusal(options, response, place, error, id)
  } finally {
    over.abort()
  }
}

/** 401 and 403 tell the client where a better token comes from (S0, "Required challenge shape"). */
function sendRefusal(
  { services, publicUrl }: McpOptions,
  response: ServerResponse,
  place: Place,
  error: unknown,
  id: string | number | null,
): void {
  const { status: usual, headers, body } = toHttpError(error, services.log, id)
  // A client's SDK makes a fault of the transport of 429, without its data; a request that has an id gets its answer.
  const status = usual === 429 && id !== null ? 200 : usual
  const metadata = metadataUrl(publicUrl(), place.path)
  const action = error instanceof AppError ? error.details.action : undefined
  const asked: Record<string, string> =
    status === 401
      ? { 'www-authenticate': challenge(metadata, 'invalid_token') }
      : status === 403
        ? { 'www-authenticate': challenge(metadata, 'insufficient_scope', action) }
        : {}
  send(response, status, body, { ...headers, ...asked })
}

function tellQuota({ rates, principal }: Ctx, response: ServerResponse): void {
  const { name, rule, left } = rates.quotas(principal).requests
  for (const [header, value] of Object.entries(rateHeaders(name, rule, left)))
    response.setHeader(header, value)
}

function sendMetadata(
  { publicUrl, issuer }: McpOptions,
  request: IncomingMessage,
  response: ServerResponse,
  { path }: Place,
): void {
  if (request.method !== 'GET') throw notFound('document', path)
  send(response, 200, resourceMetadata(`${publicUrl()}${path}`, issuer))
}

function refused(id: string | number | null, message: string, type: string): object {
  return rpcError(id, codes.invalidRequest, message, { type })
}

function batchFault(body: unknown): string | null {
  if (!Array.isArray(body)) return null
  return body.length === 0 || body.length > maxBatch ? `must hold 1 to ${maxBatch} messages` : null
}

function idOf(body: unknown): string | number | null {
  const id = isJsonObject(body) ? body['id'] : null
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

function parsed(bytes: Buffer): { value: unknown } | null {
  try {
    return { value: JSON.parse(bytes.toString('utf8')) as unknown }
  } catch {
    return null
  }
}

function send(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
