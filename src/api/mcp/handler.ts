/** MCP over HTTP: guard, authentication, body and rate limit; then the endpoint serves the request. */
import { serveLegacyAgent, serveModernAgent } from './agent/agent-eras.ts'
import { readAgentRequest } from './http/agent-request.ts'
import {
  type McpRequest,
  bodyFault,
  messageCount,
  messageIdOf,
  parseBody,
  tooManyValues,
} from './http/mcp-request.ts'
import { type McpRuntime, createMcpRuntime, type McpTimings } from './http/mcp-runtime.ts'
import { type Reply, writeReply } from './http/node-http.ts'
import { plainCallOf } from './delivery/fast-reply.ts'
import { servePlainCall } from './agent/fast-call.ts'
import { recallList } from './agent/fast-tools-list.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError, notFound } from '../../core/errors.ts'
import { rateHeaders } from '../../core/buckets.ts'
import { traceContextOf, type TraceContext } from '../../core/telemetry/unit.ts'
import { personNamedIn, type Ctx, type Services } from '../../domain/access/index.ts'
import { disconnectSignal, sendJson } from '../http/replies.ts'
import { pathOf, type ReadBody, type RouteGroup } from '../http/route.ts'
import {
  challenge,
  resourceMetadata,
  secretOf,
  endpointOf,
  metadataUrl,
  resourcesOf,
  type Endpoint,
  refusalOf,
  type GuardRules,
} from './http/guard.ts'
import { codes, rpcError, toHttpError } from './http/errors.ts'
import { servePlatform } from './platform-server.ts'

/** Serves one request of either protocol era. Throws NOT_FOUND for an agent that the caller may not see. */
async function serveAgent(runtime: McpRuntime, mcpRequest: McpRequest, agentId: string): Promise<Reply> {
  const surface = await runtime.surfaces.of(mcpRequest.ctx, agentId)
  const known = recallList(surface, mcpRequest)
  if (known) return known
  const plain = plainCallOf(mcpRequest)
  if (plain) return servePlainCall(runtime, mcpRequest, { agentId, surface }, plain)
  const request = await readAgentRequest(runtime, mcpRequest, agentId, surface)
  if (request instanceof Response) return { response: request }
  return request.era === 'modern' ? serveModernAgent(request) : serveLegacyAgent(request)
}

export interface McpOptions {
  services: Services
  /** Authenticates; throws UNAUTHENTICATED, or LIMITED when the address tries too often without a valid key. */
  contextOf(credentials: Credentials): Promise<Ctx>
  /**
   * Takes so many messages from the caller's rate limit, and returns its context with the person for whom it says it acts.
   * Throws LIMITED with the time to wait, INVALID and FORBIDDEN.
   */
  admit(ctx: Ctx, messages: number, actsFor: unknown): Promise<Ctx>
  /** The address of the client, behind trusted proxies. */
  addressOf(request: IncomingMessage): string | null
  /** The base URL that tokens are issued for. */
  publicUrl(): string
  /** The identity provider, for Protected Resource Metadata. */
  issuer: string | null
  guard: GuardRules
  timings?: Partial<McpTimings> | undefined
}

export interface Credentials {
  secret: string | null
  /** The audiences that a token may have. */
  resources: string[]
  remoteAddress: string | null
  requestId: string
  trace?: TraceContext | undefined
}

export interface Mcp extends RouteGroup {
  /** Ends all streams; clients reconnect. */
  close(): void
}

export function makeMcp(options: McpOptions): Mcp {
  const runtime = createMcpRuntime(options.services, options.timings)
  return {
    serves: (path) => endpointOf(path) !== null,
    serve: (request, response, readBody) => serve(options, runtime, request, response, readBody),
    close: () => runtime.close(),
  }
}

async function serve(
  options: McpOptions,
  runtime: McpRuntime,
  http: IncomingMessage,
  response: ServerResponse,
  readBody: ReadBody,
): Promise<void> {
  const path = pathOf(http)
  const endpoint = endpointOf(path)!
  const ended = new AbortController()
  let messageId: string | number | null = null
  const refuse = (message: string, type: string) =>
    sendJson(response, 400, rpcError(messageId, codes.invalidRequest, message, { type }))
  try {
    if (refuseEarly(options, http, response, endpoint)) return
    // Authenticates before a byte of the body is read.
    const caller = await authenticateRequest(options, http, endpoint)
    const bytes = http.method === 'POST' ? await readBody(caller.principal.id) : undefined
    if (bytes === null) return
    const body = parseBody(bytes)
    if ('fault' in body && body.fault === 'too_many_values') return refuse(tooManyValues, 'invalid_request')
    const value = 'value' in body ? body.value : undefined
    messageId = messageIdOf(value)
    const ctx = await options
      .admit(caller, messageCount(value), personNamedIn(http.headers))
      .finally(() => setRateHeaders(caller, response))
    if ('fault' in body)
      return sendJson(response, 400, rpcError(null, codes.parse, 'Parse error', { type: 'parse_error' }))
    if ('number' in body) {
      const error = rpcError(null, codes.invalidParams, body.number, { type: 'invalid_params' })
      return sendJson(response, 400, error)
    }
    const fault = bodyFault(value)
    if (fault) return refuse(fault, 'invalid_request')
    const url = `${options.publicUrl()}${path}`
    const disconnected = disconnectSignal(response)
    const request: McpRequest = { http, url, body: value, ctx, disconnected, ended: ended.signal }
    await writeReply(response, await serveEndpoint(runtime, request, endpoint))
  } catch (error) {
    if (response.headersSent) return void response.destroy()
    sendError(options, response, endpoint, error, messageId)
  } finally {
    ended.abort(requestEnded)
  }
}

/** One reason for all requests: without one, each abort would make an error with a stack. */
const requestEnded = new Error('The request has ended.')

async function serveEndpoint(runtime: McpRuntime, request: McpRequest, endpoint: Endpoint): Promise<Reply> {
  if (endpoint.kind === 'agent') return serveAgent(runtime, request, endpoint.agentId)
  return { response: await servePlatform(request, runtime.log) }
}

/** Responds to what needs no authentication: refused hosts, origins and methods, and the public metadata. */
function refuseEarly(
  options: McpOptions,
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  endpoint: Endpoint,
): boolean {
  const refusal = refusalOf(headers.host, headers.origin, options.guard)
  if (refusal) {
    sendJson(response, 403, rpcError(null, codes.forbidden, refusal, { type: 'forbidden_origin' }))
    return true
  }
  if (endpoint.kind === 'metadata') {
    if (method !== 'GET') throw notFound('document', endpoint.path)
    const { issuer, publicUrl } = options
    sendJson(response, 200, resourceMetadata(`${publicUrl()}${endpoint.path}`, issuer))
    return true
  }
  if (['POST', 'GET', 'DELETE'].includes(method!)) return false
  const error = rpcError(null, codes.invalidRequest, 'Method not allowed.', { type: 'method_not_allowed' })
  sendJson(response, 405, error, { allow: 'POST, GET, DELETE' })
  return true
}

function authenticateRequest(options: McpOptions, http: IncomingMessage, endpoint: Endpoint): Promise<Ctx> {
  return options.contextOf({
    secret: secretOf(http.headers),
    resources: resourcesOf(options.publicUrl(), endpoint),
    remoteAddress: options.addressOf(http),
    requestId: crypto.randomUUID(),
    trace: traceContextOf(http.headers),
  })
}

/** 401 and 403 tell the client where to get a token (RFC 9728, section 5.1). */
function sendError(
  { services, publicUrl }: McpOptions,
  response: ServerResponse,
  endpoint: Endpoint,
  error: unknown,
  messageId: string | number | null,
): void {
  const httpError = toHttpError(error, services.log, messageId)
  // The MCP SDKs turn a 429 into a transport error and drop its data; a request with an id gets a JSON-RPC error.
  const status = httpError.status === 429 && messageId !== null ? 200 : httpError.status
  const metadata = metadataUrl(publicUrl(), endpoint.path)
  const action = error instanceof AppError ? error.details.action : undefined
  const wwwAuthenticate: Record<string, string> =
    status === 401
      ? { 'www-authenticate': challenge(metadata, 'invalid_token') }
      : status === 403
        ? { 'www-authenticate': challenge(metadata, 'insufficient_scope', action) }
        : {}
  sendJson(response, status, httpError.body, { ...httpError.headers, ...wwwAuthenticate })
}

function setRateHeaders({ rates, principal }: Ctx, response: ServerResponse): void {
  const { name, rule, left } = rates.quotas(principal).requests
  for (const [header, value] of Object.entries(rateHeaders(name, rule, left)))
    response.setHeader(header, value)
}
