/** Cancels calls whose client has cancelled its request or disconnected. */
import { onAbort } from '../../core/abort.ts'
import { kindOfId } from '../../core/ids.ts'
import { cancelOwnCall, noteGone, readCallHandle } from '../../domain/bridge/index.ts'
import type { ToolsCall } from './started-call.ts'

/**
 * Cancels the call with this id until the returned function is called. In the modern protocol a disconnect is a
 * cancellation: a running call is cancelled at once, one that awaits approval after `graceMs`, unless the client comes
 * back. A disconnected legacy client has cancelled nothing; it sends notifications/cancelled.
 */
export function cancelOnDisconnect({ request, resumable }: ToolsCall, id: string): () => void {
  const { ctx, era, disconnected, runtime } = request
  const logFailure = (error: unknown) =>
    runtime.log.warn({ err: error, id }, 'a call could not be cancelled for its client')
  const cancel = () => void cancelOwnCall(ctx, id).catch(logFailure)
  const onDisconnect = () => {
    if (era === 'modern' && !resumable) void abandon(request, id).catch(logFailure)
  }
  // `onAbort` also acts on a signal that aborted while the call was being committed.
  const forget = [
    onAbort(era === 'legacy' ? request.cancelled : null, cancel),
    onAbort(disconnected, onDisconnect),
  ]
  return () => forget.forEach((stop) => stop())
}

async function abandon({ ctx, runtime }: ToolsCall['request'], id: string): Promise<void> {
  const handle = await readCallHandle(ctx, id)
  if (handle.status === 'AWAITING_APPROVAL' && kindOfId(id) === 'toolCall')
    await noteGone(ctx, handle, runtime.timings.graceMs)
  else await cancelOwnCall(ctx, id)
}
