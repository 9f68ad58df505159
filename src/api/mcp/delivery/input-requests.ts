/** Input requests of an upstream during a call: put to the client in the way of its protocol era. */
import type { JsonObject } from '../../../core/json.ts'
import {
  answerInputRequests,
  cancelOwnCall,
  readCallHandle,
  type CallHandle,
} from '../../../domain/bridge/index.ts'
import type { LegacyRequest } from '../http/agent-request.ts'
import { callerChannel } from './caller-channel.ts'
import { codes, protocolError } from '../http/errors.ts'
import { inputRequiredResult } from './request-state.ts'
import type { ToolsCall } from './started-call.ts'
import type { ToolsCallResult } from './tasks.ts'

/** Returns the input requests to a modern client, which repeats its request with the responses. */
export function askWithRound(
  { request, context, requestHash, round }: ToolsCall,
  { id, inputRequests }: CallHandle,
): Promise<ToolsCallResult> {
  return inputRequiredResult(
    request,
    context,
    { callId: id, round: round + 1, requestHash: requestHash() },
    inputRequests,
  )
}

/**
 * Sends the input requests to a legacy client on its stream, and resumes the call with the responses. A client that
 * refuses one, or cannot be asked, cancels the call; one that disconnects does not if it can find the call again: it is asked
 * again then. Throws when it has disconnected.
 */
export async function askOnStream(
  { context, send, resumable }: ToolsCall,
  request: LegacyRequest,
  { id, inputRequests }: CallHandle,
): Promise<CallHandle> {
  const { ctx, client, disconnected } = request
  const responses: JsonObject = {}
  for (const [key, inputRequest] of Object.entries(inputRequests ?? {})) {
    const response = await client?.request(inputRequest, send).catch(() => null)
    if (!response) {
      if (resumable && disconnected.aborted) throw nobodyIsLeft()
      await cancelOwnCall(ctx, id)
      return readCallHandle(ctx, id)
    }
    responses[key] = response
  }
  const resumed = await answerInputRequests(ctx, id, responses, callerChannel(request, context, send))
  await resumed?.running
  return readCallHandle(ctx, id)
}

/** Nobody reads it. */
const nobodyIsLeft = () => protocolError(codes.invalidRequest, 'The client has disconnected.', 'disconnected')
