/**
 * What the parts of a tools/call pass to each other, and what a modern client carries from one round of it to the
 * next.
 */
import {
  type ServerContext,
  createRequestStateCodec,
  inputRequired,
  type InputRequests,
  type InputRequiredResult,
  type RequestStateCodec,
} from '@modelcontextprotocol/server'
import { askerOf } from '../../../domain/access/index.ts'
import { markDelivered, type BridgeEntry, type CallHandle } from '../../../domain/bridge/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import type { TaskPolicy } from '../../../domain/tools/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import type { SendServerRequest } from '../http/server-requests.ts'
import { purposeKey } from '../../../core/signing.ts'
import { codes, protocolError } from '../http/errors.ts'

/** What the handler of tools/call reads of a request's protocol: the SDK's context, or that of a plain call. */
export interface CallContext {
  mcpReq: Pick<ServerContext['mcpReq'], '_meta' | 'envelope' | 'inputResponses' | 'requestState' | 'notify'>
}

/** One tools/call request. */
export interface ToolsCall {
  request: AgentRequest
  context: CallContext
  send: SendServerRequest
  /** What was called. */
  entry: BridgeEntry
  /** Of name and arguments: a requestState is valid only with the request that it was issued for. */
  requestHash: () => string
  /** How often the client has come back with a requestState. */
  round: number
  /** The caller can find the call again by its own key or id, so its disconnect does not cancel it. */
  resumable: boolean
}

/** A committed tool call or generation, and its execution when this process runs it for the caller. */
export interface StartedCall {
  id: string
  running: Promise<ToolCall> | null
}

/** Whether calls of the entry may, must or must not be tasks. */
export function taskModeOf(entry: BridgeEntry): TaskPolicy['mode'] {
  return entry.kind === 'tool' ? entry.task.mode : 'OPTIONAL'
}

/** Signed, not encrypted: the client may read all of it. */
export interface RequestState {
  /** The tool call or generation. */
  callId: string
  /** How often the client has been sent back. Makes each state unique. */
  round: number
  /** The state is valid only with the request that it was issued for. */
  requestHash: string
}

/** A state is valid for so long, in seconds: many times what a client takes to come back. */
const ttlSeconds = 600

/** The codec of one caller at one agent; it refuses states that were issued to others. */
export function requestStateCodec({
  ctx,
  agentId,
}: Pick<AgentRequest, 'ctx' | 'agentId'>): RequestStateCodec<RequestState> {
  return createRequestStateCodec<RequestState>({
    key: purposeKey(ctx.masterKey, 'mcp request state'),
    ttlSeconds,
    bind: () => `${agentId}\0${askerOf(ctx.principal)}`,
  })
}

/** The state that this request brings back; null in the first round. Throws when it belongs to another request. */
export function readRequestState({ mcpReq }: CallContext, requestHash: () => string): RequestState | null {
  const state = mcpReq.requestState<RequestState>()
  if (!state) return null
  if (state.requestHash === requestHash()) return state
  throw protocolError(codes.invalidParams, 'Invalid or expired requestState', 'invalid_request_state')
}

/** Tells the client to repeat its request with a new state, and with responses to the input requests if there are any. */
export async function inputRequiredResult(
  request: AgentRequest,
  context: CallContext,
  state: RequestState,
  inputRequests: CallHandle['inputRequests'] = null,
): Promise<InputRequiredResult> {
  return inputRequired({
    // An upstream sent them, and the SDK's client has validated them.
    ...(inputRequests ? { inputRequests: inputRequests as InputRequests } : {}),
    // `bind` of the codec, which gets the context, reads nothing of it.
    requestState: await requestStateCodec(request).mint(state, context as ServerContext),
  })
}

/** Aborts when nobody waits for the response any more. */
export function abandonSignal(request: AgentRequest): AbortSignal {
  const { disconnected } = request
  const cancelled = request.era === 'legacy' ? request.cancelled : null
  return cancelled ? AbortSignal.any([disconnected, cancelled]) : disconnected
}

/**
 * Records that the client receives the outcome. One that does not wait any more, or leaves before the end of the response, gets
 * nothing: its next request receives the outcome.
 */
export async function noteDelivery(request: AgentRequest, handle: CallHandle): Promise<void> {
  const lost = abandonSignal(request)
  if (!lost.aborted) await markDelivered(request.ctx, handle, lost)
}
