/** The requestState that a modern client carries from one round of a call to the next. */
import {
  createRequestStateCodec,
  inputRequired,
  type InputRequests,
  type InputRequiredResult,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { purposeKey } from '../../../core/signing.ts'
import type { CallHandle } from '../../../domain/bridge/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import { codes, protocolError } from '../http/errors.ts'
import type { CallContext } from './started-call.ts'

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
    bind: () => `${agentId}\0${ctx.principal.id}`,
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
