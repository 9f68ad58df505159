/** The client as an upstream sees it while it serves a call: its capabilities, its responses, progress and log messages. */
import { CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/server'
import { type JsonObject, unpackValue } from '../../../core/json.ts'
import { isLogLevel, type CallerChannel, type UpstreamRelay } from '../../../domain/bridge/index.ts'
import type { AgentRequest, LegacyRequest, ModernRequest } from '../http/agent-request.ts'
import type { SendServerRequest } from '../http/server-requests.ts'
import type { CallContext } from './request-state.ts'

/** The channel of a tools/call: what the upstream may ask, and progress when the client wants it. */
export function callerChannel(
  request: AgentRequest,
  context: CallContext,
  send: SendServerRequest,
): CallerChannel {
  const relay = request.era === 'modern' ? modernRelay(request, context) : legacyRelay(request, context, send)
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
export function roundsChannel(request: AgentRequest, context: CallContext): CallerChannel {
  return { relay: modernRelay(request, context) }
}

/** What the request's envelope declares, and the client's responses of this round. Nothing that it did not declare. */
export function modernRelay(
  { acceptsStream }: Pick<ModernRequest, 'acceptsStream'>,
  { mcpReq }: CallContext,
): UpstreamRelay {
  const envelope = (mcpReq.envelope ?? {}) as JsonObject
  const logLevel = envelope[LOG_LEVEL_META_KEY] ?? mcpReq._meta?.[LOG_LEVEL_META_KEY]
  const inputResponses = inputResponsesOf(mcpReq)
  return {
    clientCapabilities: (envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}) as JsonObject,
    ...(inputResponses ? { inputResponses } : {}),
    ...(isLogLevel(logLevel) && acceptsStream
      ? { logLevel, notify: (message) => void mcpReq.notify(message).catch(() => {}) }
      : {}),
  }
}

/** The responses that a modern client brings to the input requests of the round before. */
export function inputResponsesOf({ inputResponses }: CallContext['mcpReq']): JsonObject | null {
  return (unpackValue(inputResponses) as JsonObject | undefined) ?? null
}

/**
 * A legacy client declared its capabilities at initialize, and gets requests on its stream; log messages too when it
 * has set a level.
 */
function legacyRelay(
  { client, session, acceptsStream }: LegacyRequest,
  { mcpReq }: CallContext,
  send: SendServerRequest,
): UpstreamRelay {
  const logLevel = acceptsStream ? session?.logLevel : null
  return {
    clientCapabilities: client?.capabilities ?? {},
    ...(client ? { ask: (request) => client.request(request, send) } : {}),
    ...(logLevel ? { logLevel, notify: (message) => void mcpReq.notify(message).catch(() => {}) } : {}),
  }
}
