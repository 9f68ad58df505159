/**
 * What the HTTP APIs beside GraphQL and MCP share: every request has a key or token, a bounded JSON body, and a place in
 * the caller's rate limit; errors have one map to statuses. Each API brings its paths, and the shape of its errors.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError, invalidAt, notFound, type ErrorCode } from '../core/errors.ts'
import { hasManyValues, maxJsonValues, tryParseJson, type Json } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import { asAppError, type Ctx } from '../domain/access/index.ts'

/** One API. It is handed authenticated requests only. */
export interface KeyedApi {
  /** The path that a token must be issued for, such as `/api/v1`. */
  resource: string
  serves(path: string): boolean
  /** A reply, or null when the API has written the response itself, as streams do. AppErrors become error replies. */
  serve(request: KeyedRequest, response: ServerResponse): Promise<KeyedReply | null>
  /** The body of an error reply. */
  errorBody(error: AppError): object
}

export interface KeyedRequest {
  ctx: Ctx
  method: string
  /** As it was sent: nothing is decoded. */
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  /** The Idempotency-Key header. */
  idempotencyKey: string | null
  /** Aborts when the client disconnects. */
  disconnected: AbortSignal
  /** The JSON body, undefined for an empty one. INVALID for any other type or malformed JSON. Call it once. */
  body(): Promise<Json | undefined>
}

export interface KeyedReply {
  status: number
  /** Left out: no body. */
  body?: unknown
  headers?: Record<string, string>
}

/** Authenticates by the Authorization header alone: cookies are never read, so no other site can act with one. */
export interface KeyedCallers {
  /** Throws UNAUTHENTICATED, FORBIDDEN for a key that is bound to an agent, or LIMITED. */
  keyedCaller(request: IncomingMessage, resource: string): Promise<Ctx>
}

/** A route of the HTTP server. `readBody` returns null when the body was refused and the response has been sent. */
export interface KeyedRoute {
  serves(path: string): boolean
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    readBody: (sender: string) => Promise<Buffer | null>,
  ): Promise<void>
  /** The body of the response to a body that was not read. */
  refusal(status: 413 | 503, message: string): object
}

/** The body was refused, and the response has been sent. */
class RefusedBodyError extends Error {}

export function keyedRoute(api: KeyedApi, callers: KeyedCallers, log: Log): KeyedRoute {
  return {
    serves: (path) => api.serves(path),
    refusal: (status, message) =>
      api.errorBody(new AppError(status === 413 ? 'LIMITED' : 'UNAVAILABLE', message)),
    async serve(request, response, readBody) {
      try {
        const ctx = await callers.keyedCaller(request, api.resource)
        const reply = await api.serve(requestOf(ctx, request, response, readBody), response)
        if (reply) send(response, reply)
      } catch (error) {
        if (error instanceof RefusedBodyError) return
        // Also a client that disconnected while it sent the body.
        if (response.headersSent || response.destroyed) return void response.destroy()
        send(response, errorReply(api, log, error))
      }
    },
  }
}

function requestOf(
  ctx: Ctx,
  request: IncomingMessage,
  response: ServerResponse,
  readBody: (sender: string) => Promise<Buffer | null>,
): KeyedRequest {
  const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s)
  const disconnected = new AbortController()
  const closed = () => {
    if (!response.writableFinished) disconnected.abort()
  }
  if (response.destroyed) closed()
  else response.once('close', closed)
  return {
    ctx,
    method: request.method ?? '',
    path,
    query: new URLSearchParams(query),
    headers: request.headers,
    idempotencyKey: request.headers['idempotency-key']?.toString() ?? null,
    disconnected: disconnected.signal,
    async body() {
      const bytes = await readBody(ctx.principal.id)
      if (bytes === null) throw new RefusedBodyError()
      return jsonOf(bytes, request.headers['content-type'] ?? '')
    },
  }
}

/** A part of a path without its percent encoding. NOT_FOUND, of this kind, for a malformed one. */
export function decoded(text: string, kind: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw notFound(kind, text)
  }
}

function jsonOf(bytes: Buffer, type: string): Json | undefined {
  if (bytes.length === 0) return undefined
  if (!/^application\/json\s*(;|$)/i.test(type)) throw invalidAt(['Content-Type'], 'must be application/json')
  if (hasManyValues(bytes))
    throw new AppError('LIMITED', `The body may have at most ${maxJsonValues} values.`)
  const value = tryParseJson(bytes.toString())
  if (value === undefined) throw invalidAt(['body'], 'is not valid JSON')
  return value
}

const statuses: Record<Exclude<ErrorCode, 'LIMITED'>, number> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  INVALID: 400,
  BAD_CURSOR: 400,
  CONFLICT: 409,
  NAME_TAKEN: 409,
  IDEMPOTENCY_CONFLICT: 409,
  GENERATION_TERMINAL: 409,
  APPROVAL_ALREADY_DECIDED: 409,
  APPROVAL_EXPIRED: 409,
  CURSOR_EXPIRED: 410,
  EXPIRED: 410,
  RESPONSE_TOO_LARGE: 413,
  UPSTREAM: 502,
  UNAVAILABLE: 503,
  INTERNAL: 500,
}

/** The HTTP status of an error. LIMITED is 429 when waiting helps, else 413. */
export function statusOf({ code, details }: AppError): number {
  if (code === 'LIMITED') return details.retryAfterMs ? 429 : 413
  return statuses[code]
}

/** The reply to an error: errors that are no AppError are logged and masked. */
function errorReply(api: KeyedApi, log: Log, error: unknown): KeyedReply {
  const known = asAppError(error)
  if (!known) log.error({ err: error }, 'a request of an HTTP API failed with an internal error')
  const shown = known ?? new AppError('INTERNAL', 'Unexpected error.')
  const { retryAfterMs } = shown.details
  const headers = {
    ...(shown.code === 'UNAUTHENTICATED' ? { 'www-authenticate': 'Bearer' } : {}),
    ...(retryAfterMs ? { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } : {}),
    // A refusal is final: clients that retry conflicts by themselves would send the same again.
    ...(statusOf(shown) === 409 ? { 'x-should-retry': 'false' } : {}),
  }
  return { status: statusOf(shown), body: api.errorBody(shown), headers }
}

function send(response: ServerResponse, { status, body, headers = {} }: KeyedReply): void {
  if (response.destroyed) return
  const own = { 'cache-control': 'no-store', ...headers }
  if (body === undefined) return void response.writeHead(status, own).end()
  const bytes = Buffer.from(JSON.stringify(body))
  const type = { 'content-type': 'application/json', 'content-length': String(bytes.length) }
  response.writeHead(status, { ...type, ...own }).end(bytes)
}
