/** What happens to a call whose client has cancelled its request or disconnected. */
import { onAbort } from '../../../core/time.ts'
import { cancelOwnCall, isBehindGate, markDelivered, type CallHandle } from '../../../domain/bridge/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import type { ToolsCall } from './request-state.ts'

/**
 * Cancels the call with this id until the returned function is called. A modern client cancels by
 * disconnecting, a legacy one by notifications/cancelled, which most often says that it has reached its own time limit; its
 * disconnect cancels nothing. Either ends what runs, but nothing that is behind a gate or that the client can find again by its
 * key: the same request joins it.
 */
export function cancelOnDisconnect({ request, resumable }: ToolsCall, id: string): () => void {
  const { era, disconnected, runtime } = request
  const logFailure = (error: unknown) =>
    runtime.log.warn({ err: error, id }, 'a call could not be cancelled for its client')
  const cancelled = era === 'legacy' ? request.cancelled : disconnected
  // `onAbort` also acts on a signal that aborted while the call was being committed.
  return onAbort(resumable ? null : cancelled, () => void stopUnlessGated(request, id).catch(logFailure))
}

async function stopUnlessGated({ ctx }: AgentRequest, id: string): Promise<void> {
  if (!(await isBehindGate(ctx, id))) await cancelOwnCall(ctx, id)
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
