/** What happens to a call whose client has cancelled its request or disconnected. */
import { onAbort } from '../../../core/time.ts'
import { kindOfId } from '../../../core/ids.ts'
import {
  cancelOwnCall,
  isBehindGate,
  markDelivered,
  noteGone,
  readCallHandle,
  type CallHandle,
} from '../../../domain/bridge/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import type { ToolsCall } from './request-state.ts'

/**
 * Cancels the call with this id until the returned function is called. In the modern protocol a disconnect is a
 * cancellation: what runs is cancelled at once, a call that awaits approval after `graceMs`, unless the client comes back;
 * what else is behind a gate goes on, for the same request finds its outcome. A legacy client that disconnects has
 * cancelled nothing. One that sends notifications/cancelled has most often reached its own time limit: that ends its
 * waiting, and what runs, but nothing that is behind a gate or that it can find again by its key.
 */
export function cancelOnDisconnect({ request, resumable }: ToolsCall, id: string): () => void {
  const { era, disconnected, runtime } = request
  const logFailure = (error: unknown) =>
    runtime.log.warn({ err: error, id }, 'a call could not be cancelled for its client')
  const onCancelled = () => void stopUnlessGated(request, id).catch(logFailure)
  const onDisconnect = () => {
    if (era === 'modern' && !resumable) void abandon(request, id).catch(logFailure)
  }
  // `onAbort` also acts on a signal that aborted while the call was being committed.
  const forget = [
    onAbort(era === 'legacy' && !resumable ? request.cancelled : null, onCancelled),
    onAbort(disconnected, onDisconnect),
  ]
  return () => forget.forEach((stop) => stop())
}

async function stopUnlessGated({ ctx }: AgentRequest, id: string): Promise<void> {
  if (!(await isBehindGate(ctx, id))) await cancelOwnCall(ctx, id)
}

async function abandon(request: AgentRequest, id: string): Promise<void> {
  const { ctx, runtime } = request
  const handle = await readCallHandle(ctx, id)
  if (handle.status === 'AWAITING_APPROVAL' && kindOfId(id) === 'toolCall') {
    // When this process stops, it was not the client that has closed the connection, and it may not be able to return in time.
    if (!ctx.heartbeat.isClosed()) await noteGone(ctx, handle, runtime.timings.graceMs)
  } else await stopUnlessGated(request, id)
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
