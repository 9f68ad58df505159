/**
 * Delivers the result of a call that may take minutes, its progress, and what its upstream asks meanwhile. A client
 * with task support gets a task.
 */
import type { JsonObject } from '../../../core/json.ts'
import {
  answerInputRequests,
  cancelOwnCall,
  isBehindGate,
  readCallHandle,
  type CallHandle,
  watchAgentRun,
  waitForHandle,
} from '../../../domain/bridge/index.ts'
import type { LegacyRequest, AgentRequest } from '../http/agent-request.ts'
import { callerChannel } from './caller-channel.ts'
import { codes, protocolError } from '../http/errors.ts'
import {
  abandonSignal,
  inputRequiredResult,
  noteDelivery,
  type ToolsCall,
  type CallContext,
  taskModeOf,
  type StartedCall,
} from './request-state.ts'
import { type ToolsCallResult, newTask, supportsTasks } from './tasks.ts'
import { kindOfId } from '../../../core/ids.ts'
import { onAbort } from '../../../core/time.ts'
import { lateResult, pendingResult, resultOf, withConversation } from './results.ts'

/** Returns the input requests to a modern client, which repeats its request with the responses. */
function askWithRound(
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
async function askOnStream(
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

/** Minimum interval between notifications of text, in milliseconds. */
const textEveryMs = 200

/** Sends a notification with this message; its progress number is one higher than the last. */
export type Progress = (message: string) => void

/** Null when the client sent no progress token, or has no stream to receive notifications on. */
function progressOf(
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
function reportRun({ ctx, disconnected, runtime }: AgentRequest, progress: Progress, id: string): () => void {
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
function reportApprovalWait(
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

/**
 * Cancels the call with this id until the returned function is called. A modern client cancels by
 * disconnecting, a legacy one by notifications/cancelled, which most often says that it has reached its own time limit; its
 * disconnect cancels nothing. Either ends what runs, but nothing that is behind a gate or that the client can find again by its
 * key: the same request joins it.
 */
function cancelOnDisconnect({ request, resumable }: ToolsCall, id: string): () => void {
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
