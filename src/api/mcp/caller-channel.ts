/** The client as an upstream sees it while it serves a call: its capabilities, its responses, progress and log messages. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { JsonObject } from '../../core/json.ts'
import type { CallerChannel, UpstreamRelay } from '../../domain/bridge/index.ts'
import type { AgentRequest, LegacyRequest, ModernRequest } from './agent-request.ts'
import type { SendServerRequest } from './server-requests.ts'

/** The channel of a tools/call: what the upstream may ask, and progress when the client wants it. */
export function callerChannel(
  request: AgentRequest,
  context: ServerContext,
  send: SendServerRequest,
): CallerChannel {
  const relay = request.era === 'modern' ? modernRelay(request, context) : legacyRelay(request, send)
  const progressToken = context.mcpReq._meta?.progressToken
  if (progressToken === undefined || !request.acceptsStream) return { relay }
  return {
    relay,
    onProgress: (progress) => {
      const params = { progressToken, ...progress }
      // Fails only when the client has disconnected.
      void context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  }
}

/** The channel of a request that only a modern client can answer: in the next round, not on a stream. */
export function roundsChannel(request: AgentRequest, context: ServerContext): CallerChannel {
  return { relay: modernRelay(request, context) }
}

/** What the request's envelope declares, and the client's responses of this round. Nothing that it did not declare. */
export function modernRelay(
  { acceptsStream }: Pick<ModernRequest, 'acceptsStream'>,
  { mcpReq }: ServerContext,
): UpstreamRelay {
  const envelope = (mcpReq.envelope ?? {}) as JsonObject
  const logLevel = envelope[LOG_LEVEL_META_KEY] ?? mcpReq._meta?.[LOG_LEVEL_META_KEY]
  const inputResponses = inputResponsesOf(mcpReq)
  return {
    clientCapabilities: (envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}) as JsonObject,
    ...(inputResponses ? { inputResponses } : {}),
    ...(typeof logLevel === 'string' && acceptsStream
      ? { logLevel, notify: (message) => void mcpReq.notify(message).catch(() => {}) }
      : {}),
  }
}

/** The responses that a modern client brings to the input requests of the round before. */
export function inputResponsesOf({ inputResponses }: ServerContext['mcpReq']): JsonObject | null {
  return (inputResponses as JsonObject | undefined) ?? null
}

/** A legacy client declared its capabilities at initialize, and gets requests on its stream. */
function legacyRelay({ client }: LegacyRequest, send: SendServerRequest): UpstreamRelay {
  if (!client) return { clientCapabilities: {} }
  return {
    clientCapabilities: client.capabilities,
    ask: (request) => client.request(request, send),
  }
}
