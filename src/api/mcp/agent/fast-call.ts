/**
 * Serves a plain tools/call without the SDK's server and transport, which cost more than the call itself. The same handler
 * runs, and an outcome that is not a plain result is given to the SDK to check and write. See decision 34.
 */
import { onAbort } from '../../../core/time.ts'
import type { BridgeSurface } from '../../../domain/bridge/index.ts'
import { sessionlessRequest, type AgentRequest } from '../http/agent-request.ts'
import { refuseMismatch } from './agent-eras.ts'
import { agentServer, serverInfoOf } from './agent-server.ts'
import type { McpRequest } from '../http/mcp-request.ts'
import type { McpRuntime } from '../http/mcp-runtime.ts'
import type { Reply } from '../http/node-http.ts'
import { type PlainCall, plainReply } from '../delivery/fast-reply.ts'
import type { CallContext } from '../delivery/request-state.ts'
import type { ToolsCallResult } from '../delivery/tasks.ts'
import { callTool } from '../delivery/tools-call.ts'
import { serveLegacy, serveModern } from '../http/transports.ts'

/** How a call ended: returns its result, or throws the error for the client. */
type Outcome = () => ToolsCallResult

/** Serves the call as the SDK would. */
export async function servePlainCall(
  runtime: McpRuntime,
  mcpRequest: McpRequest,
  target: { agentId: string; surface: BridgeSurface },
  call: PlainCall,
): Promise<Reply> {
  const request = sessionlessRequest(runtime, mcpRequest, target, call.era)
  const mismatch = request.era === 'modern' ? refuseMismatch(request) : null
  if (mismatch) return { response: mismatch }
  // A modern client that has disconnected has cancelled its request.
  if (request.era === 'modern' && request.disconnected.aborted) return left()
  const outcome = await unlessGone(request, outcomeOf(request, call))
  if (outcome === gone) return left()
  const reply = replyOf(request, call, outcome)
  return reply ?? { response: await writtenBySdk(request, outcome) }
}

async function outcomeOf(request: AgentRequest, call: PlainCall): Promise<Outcome> {
  const params = { name: call.name, arguments: call.arguments }
  try {
    const result = await callTool(request, params, contextOf(call), sendsNothing)
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  }
}

/** What the SDK would tell the handler. Such a request brings no requestState and wants no notifications. */
function contextOf({ envelope }: PlainCall): CallContext {
  return {
    mcpReq: {
      ...(envelope ? { envelope: envelope as NonNullable<CallContext['mcpReq']['envelope']> } : {}),
      requestState: () => undefined,
      notify: sendsNothing,
    },
  }
}

const sendsNothing = () => Promise.reject(new Error('Nothing can be sent to a client that gets one message.'))

const gone = Symbol('gone')

/** Nobody reads it. */
function left(): Reply {
  return { response: new Response(null, { status: 499 }) }
}

/** A modern client that disconnects is not waited for; the call itself notices it (see `cancelOnDisconnect`). */
async function unlessGone<T>(
  { era, disconnected }: AgentRequest,
  work: Promise<T>,
): Promise<T | typeof gone> {
  if (era === 'legacy') return work
  let forget = () => {}
  const leaves = new Promise<typeof gone>((resolve) => {
    forget = onAbort(disconnected, () => resolve(gone))
  })
  return Promise.race([work, leaves]).finally(forget)
}

function replyOf({ surface }: AgentRequest, call: PlainCall, outcome: Outcome): Reply | null {
  try {
    return plainReply(call, outcome(), serverInfoOf(surface.agent))
  } catch {
    return null
  }
}

/** The SDK serves the same request with a handler that knows the outcome. */
function writtenBySdk(request: AgentRequest, outcome: Outcome): Promise<Response> {
  const { era, body, runtime } = request
  const inbound = { request: request.webRequest(), body }
  const server = () => agentServer(request, outcome)
  return era === 'modern'
    ? serveModern(server, inbound, runtime.log).response
    : serveLegacy(server, inbound, true)
}
