/** Requests that change a legacy session: its level of logs, its subscriptions. */
import type { Server } from '@modelcontextprotocol/server'
import { setLogLevel, type McpSession } from '../../../domain/bridge/index.ts'
import type { LegacyRequest } from './agent-request.ts'
import { codes, protocolError, toProtocolError } from './errors.ts'

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
