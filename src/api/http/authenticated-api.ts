/**
 * What the HTTP APIs beside GraphQL and MCP share: every request has a key or token, a bounded JSON body, and a place in
 * the caller's rate limit; errors have one map to statuses. Each API brings its paths, and the shape of its errors.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { numberIssue } from '../../core/check.ts'
import { AppError, invalid, invalidAt, notFound } from '../../core/errors.ts'
import {
  hasManyValues,
  type Json,
  maxJsonDepth,
  maxJsonValues,
  tryParseJson,
  writeJson,
} from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { asAppError, type Ctx } from '../../domain/access/index.ts'
import { disconnectSignal, refusalHeaders, sendJson, statusOf } from './replies.ts'
import {
  createTable,
  notAllowed,
  pathOf,
  unreadBody,
  type ReadBody,
  type RouteGroup,
  type RouteHead,
} from './route.ts'

/** One API. It is handed authenticated requests only. */
export interface AuthenticatedApi {
  /** Its path, such as `/api/v1`: it serves everything below, and a token must be issued for it. */
  resource: string
  routes: readonly ApiRoute[]
  /** The body of an error reply to a request of this path. */
  errorBody(error: AppError, path: string): object
  /** The error for a path without a route; left out: NOT_FOUND, which names the paths that there are. */
  missing?(request: AuthenticatedRequest): AppError
  /** The error for a method that the path does not have. */
  notAllowed?: AppError
}

export interface ApiRoute extends RouteHead {
  /** A reply, or null when the response was written, as streams do. AppErrors become error replies. */
  run(call: ApiCall): Promise<ApiReply | null>
}

export interface ApiCall {
  request: AuthenticatedRequest
  response: ServerResponse
  /** The parameters of the path by name, as they were sent. */
  params: Record<string, string>
}

export interface AuthenticatedRequest {
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

export interface ApiReply {
  status: number
  /** Left out: no body. */
  body?: unknown
  headers?: Record<string, string>
  /** Called when the body was handed to a client that is still there, before the response ends. */
  sent?: () => Promise<void>
}

/** Authenticates by the Authorization header alone: cookies are never read, so no other site can act with one. */
export interface AuthenticatedCallers {
  /** Throws UNAUTHENTICATED, FORBIDDEN for a key that is bound to an agent, or LIMITED. */
  authenticatedCaller(request: IncomingMessage, resource: string): Promise<Ctx>
}

/** The body was refused, and the response has been sent. */
class RefusedBodyError extends Error {}

export function authenticatedRoute(
  api: AuthenticatedApi,
  callers: AuthenticatedCallers,
  log: Log,
): RouteGroup {
  const { resource } = api
  const find = createTable(api.routes)
  return {
    serves: (path) => path === resource || path.startsWith(`${resource}/`),
    refusal: (status, message) => api.errorBody(unreadBody(status, message), resource),
    async serve(http, response, readBody) {
      try {
        const ctx = await callers.authenticatedCaller(http, resource)
        const request = requestOf(ctx, http, response, readBody)
        const match = find(request.method, request.path)
        if (!match) throw api.missing?.(request) ?? nothingAt(request.path, api)
        const reply =
          'route' in match
            ? await match.route.run({ request, response, params: match.params })
            : {
                status: 405,
                body: api.errorBody(api.notAllowed ?? notAllowed, request.path),
                headers: { allow: match.allow },
              }
        if (reply) await send(response, reply)
      } catch (error) {
        if (error instanceof RefusedBodyError) return
        // A client that disconnected, maybe while it sent the body.
        if (response.destroyed) return
        const reply = errorReply(api, log, error, pathOf(http))
        if (response.headersSent) return void response.destroy()
        await send(response, reply)
      }
    },
  }
}

function requestOf(
  ctx: Ctx,
  request: IncomingMessage,
  response: ServerResponse,
  readBody: ReadBody,
): AuthenticatedRequest {
  const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s)
  return {
    ctx,
    method: request.method ?? '',
    path,
    query: new URLSearchParams(query),
    headers: request.headers,
    idempotencyKey: request.headers['idempotency-key']?.toString() ?? null,
    disconnected: disconnectSignal(response),
    async body() {
      const bytes = await readBody(ctx.principal.id)
      if (bytes === null) throw new RefusedBodyError()
      return jsonOf(bytes, request.headers['content-type'] ?? '')
    },
  }
}

/** A part of a path without its percent encoding. NOT_FOUND, of this kind, for a malformed one. */
export function decodePathPart(text: string, kind: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw notFound(kind, text)
  }
}

function jsonOf(bytes: Buffer, type: string): Json | undefined {
  if (bytes.length === 0) return undefined
  // Protocols have media types of their own, as `application/a2a+json`.
  if (!/^application\/(?:[a-z\d.-]+\+)?json\s*(;|$)/i.test(type))
    throw invalidAt(['Content-Type'], 'must be application/json')
  if (hasManyValues(bytes))
    throw new AppError('LIMITED', `The body may have at most ${maxJsonValues} values.`)
  const text = bytes.toString()
  const value = tryParseJson(text)
  if (value === undefined) throw invalid([numberIssue(text, ['body']) ?? notJson])
  return value
}

const notJson = { path: ['body'], message: `is not valid JSON of at most ${maxJsonDepth} levels` }

function nothingAt(path: string, { routes }: AuthenticatedApi): AppError {
  const served = routes.map((route) => `${route.method} ${route.path}`).join(', ')
  return new AppError(
    'NOT_FOUND',
    `There is nothing at ${writeJson(path.slice(0, 80))}. Served are ${served}.`,
  )
}

/** The reply to an error: errors that are no AppError are logged and masked. */
function errorReply(api: AuthenticatedApi, log: Log, error: unknown, path: string): ApiReply {
  const known = asAppError(error)
  if (!known) log.error({ err: error }, 'a request of an HTTP API failed with an internal error')
  const shown = known ?? new AppError('INTERNAL', 'Unexpected error.')
  const headers = {
    ...refusalHeaders(shown),
    // A refusal is final: clients that retry conflicts by themselves would send the same again.
    ...(statusOf(shown) === 409 ? { 'x-should-retry': 'false' } : {}),
  }
  return { status: statusOf(shown), body: api.errorBody(shown, path), headers }
}

async function send(response: ServerResponse, { status, body, headers = {}, sent }: ApiReply): Promise<void> {
  if (response.destroyed) return
  const own = { 'cache-control': 'no-store', ...headers }
  if (body === undefined) return void response.writeHead(status, own).end()
  if (!sent) return sendJson(response, status, body, own)
  // Without its length the body ends with the response.
  response.writeHead(status, { 'content-type': 'application/json', ...own })
  await new Promise<void>((resolve) => {
    response.once('close', resolve)
    response.write(writeJson(body), () => resolve())
  })
  if (response.destroyed) return
  await sent()
  response.end()
}
