/** What happens to a call whose client has cancelled its request or disconnected. */
import { onAbort } from '../../../core/abort.ts'
import { kindOfId } from '../../../core/ids.ts'
import { cancelOwnCall, isBehindGate, noteGone, readCallHandle } from '../../../domain/bridge/index.ts'
import type { ToolsCall } from './started-call.ts'

/**
 * Cancels the call with this id until the returned function is called. In the modern protocol a disconnect is a
 * cancellation: a running call is cancelled at once, one that awaits approval after `graceMs`, unless the client comes
 * back. A legacy client that disconnects has cancelled nothing. One that sends notifications/cancelled has most often
 * reached its own time limit: that ends its waiting, and what runs, but nothing that is behind a gate or that it can find
 * again by its key.
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

async function stopUnlessGated({ ctx }: ToolsCall['request'], id: string): Promise<void> {
  if (!(await isBehindGate(ctx, id))) await cancelOwnCall(ctx, id)
}

async function abandon({ ctx, runtime }: ToolsCall['request'], id: string): Promise<void> {
  const handle = await readCallHandle(ctx, id)
  if (handle.status === 'AWAITING_APPROVAL' && kindOfId(id) === 'toolCall')
    await noteGone(ctx, handle, runtime.timings.graceMs)
  else await cancelOwnCall(ctx, id)
}
