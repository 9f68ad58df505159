/** Progress notifications for a client that sent a progress token: the agent's steps and text, and the wait for approval. */
import { kindOfId } from '../../../core/ids.ts'
import { watchAgentRun, type CallHandle } from '../../../domain/bridge/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import type { CallContext } from './started-call.ts'

/** Minimum interval between notifications of text, in milliseconds. */
const textEveryMs = 200

/** Sends a notification with this message; its progress number is one higher than the last. */
export type Progress = (message: string) => void

/** Null when the client sent no progress token, or has no stream to receive notifications on. */
export function progressOf(
  { acceptsStream }: Pick<AgentRequest, 'acceptsStream'>,
  { mcpReq }: CallContext,
): Progress | null {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined || !acceptsStream) return null
  let progress = 0
  return (message) => {
    const params = { progressToken, progress: ++progress, message }
    // Fails only when the client has disconnected.
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}

/** Reports the steps and text of a run until the returned function is called. Does nothing for a tool call. */
export function reportRun(
  { ctx, disconnected, runtime }: AgentRequest,
  progress: Progress,
  id: string,
): () => void {
  if (kindOfId(id) !== 'generation') return () => {}
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, disconnected])
  const report = async () => {
    let lastText = 0
    for await (const { message, isText } of watchAgentRun(ctx, id, signal)) {
      if (isText && Date.now() - lastText < textEveryMs) continue
      lastText = Date.now()
      progress(message)
    }
  }
  report().catch((error: unknown) =>
    runtime.log.warn({ err: error, id }, 'the progress of a run could not be reported'),
  )
  return () => stop.abort()
}

/** Reports how long the approval is still awaited, every `progressMs` until the returned function is called; the deadline may move meanwhile. */
export function reportApprovalWait(
  { ctx, runtime }: AgentRequest,
  progress: Progress,
  latest: () => CallHandle,
): () => void {
  const report = () => {
    const expiresAt = latest().pendingApproval?.expiresAt.getTime() ?? 0
    const secondsLeft = Math.max(0, Math.round((expiresAt - ctx.clock.now()) / 1000))
    progress(`waiting for approval, ${secondsLeft} s left`)
  }
  report()
  const timer = setInterval(report, runtime.timings.progressMs)
  return () => clearInterval(timer)
}
