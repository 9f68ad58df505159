/**
 * One request to an agent's MCP endpoint: the caller, the surface that it may see, the protocol era, and for a legacy
 * client its session, which some requests change.
 */
import { isLegacyRequest, type Server } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import {
  type BridgeSurface,
  type InputRequest,
  type McpSession,
  setLogLevel,
} from '../../../domain/bridge/index.ts'
import { codes, rpcError, protocolError, toProtocolError } from './errors.ts'
import { acceptsStream, modernVersion, type McpRequest } from './mcp-request.ts'
import type { McpRuntime } from './mcp-runtime.ts'
import { toWebRequest } from './node-http.ts'
import type { OpenSession } from './sessions.ts'
import type { SendServerRequest } from './server-requests.ts'

interface RequestBase extends McpRequest {
  runtime: McpRuntime
  agentId: string
  /** The surface as this caller may use it. */
  surface: BridgeSurface
  /** The HTTP request as the SDK takes it, the same at each call; its body is `body`. */
  webRequest(): Request
  /** The body when it is one JSON-RPC message, not a batch. */
  message: JsonObject | null
  /** Whether the response may be a stream. */
  acceptsStream: boolean
  /** Errors get the codes of the SEED profile: -32601 unknown tool, -32602 invalid arguments, -32003 timeout. */
  seedErrors: boolean
}

/** Protocol 2026-07-28 or later: each request describes itself. */
export interface ModernRequest extends RequestBase {
  era: 'modern'
}

/** An earlier protocol with a handshake, or a plain JSON-RPC caller without one. */
export interface LegacyRequest extends RequestBase {
  era: 'legacy'
  /** Null for a request without Mcp-Session-Id. */
  session: OpenSession | null
  /** Aborts when the client cancels this request with notifications/cancelled. Null without a session. */
  cancelled: AbortSignal | null
  /** Sends requests to the client. Null when it declared no capability for them, or has no stream to receive them on. */
  client: LegacyClient | null
}

export type AgentRequest = ModernRequest | LegacyRequest

/** A legacy client that answers requests of the server, such as elicitation. */
export interface LegacyClient {
  capabilities: JsonObject
  /** Resolves with the client's result; rejects when it returns an error or disconnects. */
  request(request: InputRequest, send: SendServerRequest): Promise<JsonObject>
}

/** The thread of a legacy session; modern clients name a conversation in their arguments. */
export function threadIdOf(request: AgentRequest): string | null {
  return request.era === 'legacy' ? (request.session?.threadId ?? null) : null
}

/** Builds the request; a Response when its session does not exist. `surface` is the agent's, as this caller may use it. */
export async function readAgentRequest(
  runtime: McpRuntime,
  request: McpRequest,
  agentId: string,
  surface: BridgeSurface,
): Promise<AgentRequest | Response> {
  const base = baseOf(runtime, request, { agentId, surface })
  const legacy = base.http.method !== 'POST' || (await isLegacyRequest(base.webRequest(), base.body))
  return legacy ? readLegacyRequest(base) : { ...base, era: 'modern' }
}

/** Builds a request of a known era that is outside any session. */
export function sessionlessRequest(
  runtime: McpRuntime,
  request: McpRequest,
  target: { agentId: string; surface: BridgeSurface },
  era: AgentRequest['era'],
): AgentRequest {
  const base = baseOf(runtime, request, target)
  return era === 'modern' ? { ...base, era } : { ...base, era, session: null, cancelled: null, client: null }
}

function baseOf(
  runtime: McpRuntime,
  request: McpRequest,
  { agentId, surface }: { agentId: string; surface: BridgeSurface },
): RequestBase {
  const { http, url, body, disconnected } = request
  let made: Request | null = null
  return {
    ...request,
    runtime,
    agentId,
    surface,
    webRequest: () => (made ??= toWebRequest(http, url, disconnected, acceptHeader(request))),
    message: isJsonObject(body) ? body : null,
    acceptsStream: acceptsStream(request),
    seedErrors: usesSeedErrors(request, surface.agent.mcp?.errorProfile),
  }
}

async function readLegacyRequest(base: RequestBase): Promise<LegacyRequest | Response> {
  const { runtime, ctx, agentId, message, ended } = base
  const sessionId = base.http.headers['mcp-session-id']?.toString()
  if (sessionId === undefined) return { ...base, era: 'legacy', session: null, cancelled: null, client: null }
  const session = await runtime.sessions.find(ctx, agentId, sessionId)
  if (!session) return unknownSession()
  const id = message?.['id']
  return {
    ...base,
    era: 'legacy',
    session,
    cancelled: id === undefined ? null : runtime.sessions.cancellation(ctx, session, id, ended),
    client: base.acceptsStream ? clientOf(base, session) : null,
  }
}

function clientOf({ runtime, ctx, disconnected }: RequestBase, session: McpSession): LegacyClient | null {
  if (session.capabilities.length === 0) return null
  return {
    capabilities: Object.fromEntries(session.capabilities.map((name) => [name, {}])),
    request: (request, send) => runtime.serverRequests.send(ctx, session, request, send, disconnected),
  }
}

function unknownSession(): Response {
  const body = rpcError(null, codes.invalidRequest, 'This session does not exist or has ended.', {
    type: 'session_not_found',
  })
  return Response.json(body, { status: 404 })
}

/** With profile AUTO, a request without protocol version, session and `_meta` comes from a plain JSON-RPC caller. */
function usesSeedErrors(
  { http: { headers }, body }: McpRequest,
  profile: 'AUTO' | 'SPEC' | 'SEED' = 'AUTO',
): boolean {
  if (profile !== 'AUTO') return profile === 'SEED'
  const plain = headers['mcp-protocol-version'] === undefined && headers['mcp-session-id'] === undefined
  const params = isJsonObject(body) ? body['params'] : undefined
  return plain && !(isJsonObject(params) && params['_meta'] !== undefined)
}

/** The SDK serves only legacy clients that accept both content types. One that accepts fewer gets JSON: see `acceptsStream`. */
function acceptHeader({ http: { headers, method } }: McpRequest): string | undefined {
  return method === 'POST' && headers['mcp-protocol-version'] !== modernVersion
    ? 'application/json, text/event-stream'
    : headers.accept
}

/** Runs for the session of the request; a ProtocolError when there is none. Responds with an empty object. */
export async function inSession(
  { session, runtime }: LegacyRequest,
  act: (session: McpSession) => Promise<void>,
): Promise<object> {
  try {
    if (!session)
      throw protocolError(
        codes.invalidRequest,
        'This request belongs to a session: send initialize first, then its Mcp-Session-Id.',
        'session_required',
      )
    await act(session)
    return {}
  } catch (error) {
    throw toProtocolError(error, runtime.log)
  }
}

/**
 * Adds logging/setLevel. From then on the log messages of upstreams, of this level and above, come on the stream of the
 * request that caused them, on whichever replica.
 */
export function addLogLevel(server: Server, request: LegacyRequest): void {
  const { ctx, agentId } = request
  server.setRequestHandler('logging/setLevel', ({ params: { level } }) =>
    inSession(request, (session) => setLogLevel(ctx, { agentId, session, level })),
  )
}
