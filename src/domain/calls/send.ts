/** Sends a call that is committed as EXECUTING, while this process certainly holds it and no pause does, and settles it. */
import { attributeNames as names, type TraceContext, beginUnit } from '../../core/telemetry/unit.ts'
import type { Services } from '../access/index.ts'
import { loginQuestion } from '../approvals/index.ts'
import { type ToolCall, mayHaveRun, newestAttempt } from '../tool-calls/index.ts'
import {
  codeOf,
  statusOf,
  type FinishedCall,
  isIdempotent,
  runTool,
  runToolFor,
  WithheldError,
  type Run,
} from '../tools/index.ts'
import type { InputRequired } from '../upstream/index.ts'
import type { Execution, PreparedCall } from './execution.ts'
import { setTimeout as pause } from 'node:timers/promises'
import { elapsedSince, momentNow, type Moment } from '../../core/time.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import { sendWithinMs } from '../basis/index.ts'
import { LeaseLostError } from '../../store/work/work.ts'
import { settleLate } from './settle.ts'

/** Runs the call; requests that it makes carry the trace context that `run` is given. */
async function runAsUnit<Ran extends FinishedCall | { inputRequired: InputRequired }>(
  { meters }: Services,
  call: ToolCall,
  { trace }: Pick<Execution<unknown>, 'trace'>,
  run: (trace: TraceContext | undefined) => Promise<Ran>,
): Promise<Ran> {
  const { id, generationId, threadId, kind, approvalId } = call
  const unit = beginUnit(meters, 'tool', {
    name: call.runtimeName,
    parent: trace?.parent,
    links: [trace?.continues],
    attributes: {
      [names.operation]: 'execute_tool',
      [names.toolName]: call.runtimeName,
      [names.toolCallId]: id,
      [names.toolType]: kind === 'platform' ? 'function' : 'extension',
      ...(kind === 'mcp' ? { [names.mcpMethod]: 'tools/call' } : {}),
      ...(generationId ? { [names.generation]: generationId } : {}),
      ...(threadId ? { [names.conversation]: threadId } : {}),
      ...(approvalId ? { [names.approval]: approvalId } : {}),
    },
  })
  const end = (outcome: string, errorType?: string) => unit.end({ kind: kind ?? 'none', outcome }, errorType)
  try {
    const ran = await run(unit.trace)
    if ('inputRequired' in ran) end('input_required')
    else {
      const outcome = statusOf(ran)
      end(outcome.toLowerCase(), outcome === 'SUCCEEDED' ? undefined : (codeOf(ran.result) ?? 'tool_error'))
    }
    return ran
  } catch (error) {
    end('not_sent', error instanceof Error ? error.name : 'unknown')
    throw error
  }
}

/**
 * The most time that the tries of a call may take together whose connection was too slow, in milliseconds. In a busy process many
 * are, although nobody else holds the call.
 */
const lateForMs = 60_000
/** How often a call is tried that the server at the other end does not take. */
const mostRefusals = 3

/** The longest that a call which is begun and not sent waits before it asks again whether a pause holds it. */
const askAgainMs = sendWithinMs / 2

/**
 * Waits while a pause holds a call that was begun before it and has not been sent, until it may be sent or the lease or the
 * process ends. Returns when the last question was put.
 */
async function whileFree<Settled>(
  call: ToolCall,
  { store, lease, signal, isLeftToNext }: Execution<Settled>,
  begunAt: Moment | undefined,
): Promise<Moment> {
  let free = begunAt
  while (!free || elapsedSince(free) >= askAgainMs) {
    await lease.confirm()
    const asked = momentNow()
    if (!(await store.isPaused(call))) free = asked
    else if (signal.aborted || isLeftToNext()) throw new WithheldError(call.id)
    else await pause(askAgainMs, undefined, { signal, ref: false }).catch(() => {})
  }
  return free
}

/**
 * Sends the call and settles it. `begunAt`: when the statement was sent that started it and found no pause; absent: that is
 * asked first. Returns what `settle` returned, or null when the call is left to the next owner of its row.
 */
export async function send<Settled>(
  services: Services,
  call: ToolCall,
  { callable, merged, upstream = null }: PreparedCall,
  how: Execution<Settled>,
  begunAt: Moment | undefined,
): Promise<Settled | null> {
  const { store, lease, signal, caller = null } = how
  let free = begunAt
  const run: Run = {
    projectId: call.projectId,
    callable,
    merged,
    upstream,
    attachments: call.attachments,
    callId: call.id,
    requestedBy: call.requestedBy,
    requester: call.requester,
    wasSent: mayHaveRun(call),
    signal: isIdempotent(callable) ? signal : new AbortController().signal,
    mayStart(delayMs = 0) {
      const may = lease.isSure() && free !== undefined && elapsedSince(free) + delayMs < sendWithinMs
      if (may) store.onSend(call)
      return may
    },
  }
  let ran
  const refusals: FinishedCall[] = []
  try {
    // This process may have been suspended since the commit, and another worker may hold the lease by now.
    await lease.confirm()
    let lateMs = 0
    while (ran === undefined) {
      free = await whileFree(call, how, free)
      const tried = performance.now()
      try {
        ran = await runAsUnit(services, call, how, (trace) =>
          store.askCaller
            ? runToolFor(services, { ...run, trace }, caller)
            : runTool(services, { ...run, trace }),
        )
      } catch (error) {
        if (!(error instanceof WithheldError)) throw error
        if (error.refusal) refusals.push(error.refusal)
        lateMs += performance.now() - tried
        if (refusals.length === mostRefusals || lateMs > lateForMs) throw error
        // It took longer than the answer about pauses, or the lease, certainly holds: both are asked for again.
        free = undefined
      }
    }
  } catch (error) {
    if (!isOfUnsent(error)) throw error
    ran = refusals.at(-1)
    if (!ran) return store.notSent(call, error)
  }
  if ('inputRequired' in ran) return store.askCaller!(call, ran.inputRequired)
  if (ran.loginOf !== undefined) return waitForLogin(services, call, { callable, merged }, how, ran.loginOf)
  if (ran.result.isError && isIdempotent(callable) && how.isLeftToNext()) return null
  if (ran.outcome === 'unknown') takeLate(services, call, ran)
  return store.settle(call, ran)
}

/** Whether the error says that the call was not sent. */
function isOfUnsent(error: unknown): boolean {
  return error instanceof LeaseLostError || error instanceof WithheldError || isStorageError(error)
}

/** Nothing has acted on the call: it waits until this person has logged in, and counts as a use of its tool when it runs. */
async function waitForLogin<Settled>(
  services: Services,
  call: ToolCall,
  { callable: tool, merged }: PreparedCall,
  { store }: Execution<Settled>,
  person: string,
): Promise<Settled> {
  await services.rates.giveBackUse(call.projectId, 'TOOL', tool.id)
  return store.askLogin(call, loginQuestion(services, call, { tool, merged, person }))
}

/** Settles the call with what comes of it after it was reported as UNKNOWN. */
function takeLate(services: Services, call: ToolCall, { late }: FinishedCall): void {
  void late?.then((outcome) => settleLate(services, newestAttempt(call), outcome))
}
