/** resources/read and prompts/get: calls of the tool whose upstream serves them, with its gate. */
import type { ServerContext } from '@modelcontextprotocol/server'
import { onAbort } from '../../../core/time.ts'
import { asText, isJsonObject, type JsonObject } from '../../../core/json.ts'
import {
  answerInputRequests,
  cancelOwnCall,
  readCallHandle,
  waitForHandle,
  type CallerChannel,
  type CallHandle,
  type CommittedCall,
} from '../../../domain/bridge/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import { inputResponsesOf } from './caller-channel.ts'
import { codes, faultError, protocolError, toProtocolError } from '../http/errors.ts'
import {
  abandonSignal,
  inputRequiredResult,
  noteDelivery,
  readRequestState,
  type RequestState,
} from './request-state.ts'
import { protocolFaultOf, waitsFor } from './results.ts'

export interface FeatureRead {
  /** Of method and parameters: a requestState is valid only with the request that it was issued for. */
  requestHash: string
  caller: CallerChannel
  commit(): Promise<CommittedCall>
}

/**
 * Returns what the upstream sent, or its input requests. A read that awaits approval is held for a while, then refused
 * with `pending_approval`. Throws only ProtocolError.
 */
export async function readFeature(
  request: AgentRequest,
  context: ServerContext,
  read: FeatureRead,
): Promise<object> {
  try {
    const state = readRequestState(context, () => read.requestHash)
    const id = state ? await resume(request, context, read, state) : await start(request, read)
    const handle = await waitUntilClosed(request, id)
    if (handle.status !== 'INPUT_REQUIRED') return await contentOf(request, handle)
    const next = { callId: id, round: (state?.round ?? 0) + 1, requestHash: read.requestHash }
    return await inputRequiredResult(request, context, next, handle.inputRequests)
  } catch (error) {
    throw toProtocolError(error, request.runtime.log)
  }
}

async function start({ ctx, disconnected }: AgentRequest, { commit }: FeatureRead): Promise<string> {
  const { call, running } = await commit()
  if (!running) return call.id
  const forget = onAbort(disconnected, () => void cancelOwnCall(ctx, call.id).catch(() => {}))
  await running.finally(forget)
  return call.id
}

/** A later round: gives the client's responses to the upstream when it brings any. */
async function resume(
  { ctx }: AgentRequest,
  { mcpReq }: ServerContext,
  { caller }: FeatureRead,
  { callId }: RequestState,
): Promise<string> {
  const responses = inputResponsesOf(mcpReq)
  const resumed = responses && (await answerInputRequests(ctx, callId, responses, caller))
  await resumed?.running
  return callId
}

/** Waits while the read runs or awaits approval, at most `inlineHoldMs`. */
async function waitUntilClosed(request: AgentRequest, id: string): Promise<CallHandle> {
  const { ctx, runtime } = request
  const handle = await readCallHandle(ctx, id)
  const isOpen = ({ status }: CallHandle) => status === 'AWAITING_APPROVAL' || status === 'RUNNING'
  if (!isOpen(handle)) return handle
  return waitForHandle(ctx, handle, {
    maxMs: runtime.timings.inlineHoldMs,
    signal: abandonSignal(request),
    enough: (now) => !isOpen(now),
  })
}

async function contentOf(request: AgentRequest, handle: CallHandle): Promise<object> {
  const { id, status, result } = handle
  if (status === 'AWAITING_APPROVAL') throw pendingError(handle, request.runtime.timings.pollMs)
  if (!result)
    throw protocolError(codes.internal, 'No answer in time. Repeat this request.', 'timeout', { call_id: id })
  await noteDelivery(request, handle)
  const { isError, structuredContent } = result
  if (!isError) return structuredContent as object
  const fault = protocolFaultOf(result)
  if (fault) throw faultError(fault)
  const error = (structuredContent as { error?: JsonObject } | undefined)?.error
  const { code, message } = isJsonObject(error)
    ? error
    : { code: 'upstream_error', message: 'The read failed.' }
  throw protocolError(codes.internal, asText(message), asText(code), { call_id: id })
}

function pendingError({ id, pendingApproval }: CallHandle, retryAfterMs: number) {
  const { approvalId, expiresAt, login } = pendingApproval!
  const message = `Not read yet: ${waitsFor(login)}. Repeat this request unchanged to get the outcome.`
  return protocolError(codes.conflict, message, 'pending_approval', {
    call_id: id,
    approval_id: approvalId,
    expires_at: expiresAt.toISOString(),
    retry_after_ms: retryAfterMs,
  })
}
