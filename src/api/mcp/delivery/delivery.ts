/**
 * Delivers the result of a call that may take minutes. A client with task support gets a task; any other modern client
 * is sent back round by round; a legacy client is held for a while, with progress if it asked for it.
 */
import { noteBack, readCallHandle, waitForHandle, type CallHandle } from '../../../domain/bridge/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import { abandonSignal, cancelOnDisconnect, noteDelivery } from './disconnect.ts'
import { askOnStream, askWithRound } from './input-requests.ts'
import { progressOf, reportApprovalWait, reportRun } from './progress.ts'
import { inputRequiredResult } from './request-state.ts'
import { lateResult, pendingResult, resultOf, withConversation } from './results.ts'
import { taskModeOf, type StartedCall, type ToolsCall } from './started-call.ts'
import { newTask, supportsTasks, type ToolsCallResult } from './tasks.ts'

/** Waits as long as this client can wait, and returns the result, a task, or what the client must do to get the result. */
export async function deliver(call: ToolsCall, started: StartedCall): Promise<ToolsCallResult> {
  const { request, context, entry } = call
  const { id, running } = started
  const stopWatching = cancelOnDisconnect(call, id)
  try {
    if (supportsTasks(request, context) && taskModeOf(entry) !== 'NEVER')
      return await deliverAsTask(call, started)
    const settled = await running
    if (settled?.result) return resultOf(request, id, settled.result)
    return await waitForResult(call, await readCallHandle(request.ctx, id))
  } finally {
    stopWatching()
  }
}

/** A task, unless the call ends within `taskAfterMs`. */
async function deliverAsTask(call: ToolsCall, { id, running }: StartedCall): Promise<ToolsCallResult> {
  const { request, entry } = call
  const { ctx, runtime, disconnected } = request
  // tasks/get reports how it ended.
  running?.catch(() => {})
  const handle = await waitForHandle(ctx, await readCallHandle(ctx, id), {
    maxMs: runtime.timings.taskAfterMs,
    signal: disconnected,
    enough: ({ status }) => status !== 'RUNNING',
  })
  if (handle.status === 'INPUT_REQUIRED' && !asksInTask(call)) return askWithRound(call, handle)
  const done = handle.result !== null && handle.status === 'DONE' && taskModeOf(entry) !== 'REQUIRED'
  return done ? finalResult(request, handle) : newTask(request, handle)
}

/** Whether the upstream's input requests are answered within the task, and not before there is one. */
function asksInTask({ entry }: ToolsCall): boolean {
  return entry.kind === 'tool' && entry.task.inputPhase === 'IN_TASK'
}

/** Without a task: waits while the call runs, awaits approval or input, each within its own time limit. */
async function waitForResult(call: ToolsCall, first: CallHandle): Promise<ToolsCallResult> {
  const { request, context } = call
  const { ctx, runtime, era } = request
  if (first.abandoned) await noteBack(ctx, first)
  const progress = progressOf(request, context)
  const stopReporting = progress ? reportRun(request, progress, first.id) : () => {}
  const holdUntil = performance.now() + approvalHoldMs(request, progress !== null)
  let runLeftMs = runtime.timings.runMs
  let handle = first
  try {
    for (;;) {
      const { status } = handle
      if (status === 'DONE' || status === 'CANCELLED') return await finalResult(request, handle)
      if (status === 'INPUT_REQUIRED') {
        if (era === 'modern') return await askWithRound(call, handle)
        handle = await askOnStream(call, request, handle)
        continue
      }
      const start = performance.now()
      const maxMs = status === 'RUNNING' ? runLeftMs : Math.max(0, holdUntil - start)
      const stopTicking =
        progress && status !== 'RUNNING' ? reportApprovalWait(request, progress, () => handle) : null
      handle = await waitForHandle(ctx, handle, {
        maxMs,
        signal: abandonSignal(request),
        enough: (now) => (handle = now).status !== status,
      }).finally(() => stopTicking?.())
      if (status === 'RUNNING') runLeftMs -= performance.now() - start
      if (handle.status === status) return await unfinishedResult(call, handle)
    }
  } finally {
    stopReporting()
  }
}

/** How long the request is held while a person decides, in milliseconds. */
function approvalHoldMs({ era, runtime: { timings } }: AgentRequest, reportsProgress: boolean): number {
  if (era === 'modern') return timings.roundHoldMs
  return reportsProgress ? timings.progressHoldMs : timings.inlineHoldMs
}

/** What the client gets when its time to wait is over: a timeout error, a pending result, or another round. */
async function unfinishedResult(call: ToolsCall, handle: CallHandle): Promise<ToolsCallResult> {
  const { request, context, requestHash, round, resumable } = call
  const { id, conversationId } = handle
  if (handle.status === 'RUNNING') return withConversation(lateResult(request, id, resumable), conversationId)
  if (request.era === 'legacy')
    return withConversation(pendingResult(handle, request.runtime.timings.progressMs), conversationId)
  return inputRequiredResult(request, context, { callId: id, round: round + 1, requestHash: requestHash() })
}

async function finalResult(request: AgentRequest, handle: CallHandle): Promise<ToolsCallResult> {
  await noteDelivery(request, handle)
  const cancelled = { content: [{ type: 'text' as const, text: 'The call was cancelled.' }], isError: true }
  const result = resultOf(request, handle.id, handle.result ?? cancelled)
  return withConversation(result, handle.conversationId)
}
