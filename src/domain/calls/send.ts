/** Sends a call that is committed as EXECUTING, while this process certainly holds it and no pause does, and settles it. */
import { setTimeout as pause } from 'node:timers/promises'
import { elapsedSince, momentNow, type Moment } from '../../core/stopwatch.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import { sendWithinMs } from '../../store/work/pauses.ts'
import { LeaseLostError } from '../../store/work/work.ts'
import type { Services } from '../access/index.ts'
import { mayHaveRun, newestAttempt, type ToolCall } from '../tool-calls/index.ts'
import { isIdempotent, runTool, runToolFor, WithheldError, type Finished, type Run } from '../tools/index.ts'
import type { Execution, Prepared } from './execution.ts'
import { settleLate } from './late-outcome.ts'
import { runAsUnit } from './tool-unit.ts'

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
  { callable, merged, upstream = null }: Prepared,
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
  const refusals: Finished[] = []
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
    const isUnsent =
      error instanceof LeaseLostError || error instanceof WithheldError || isStorageError(error)
    if (!isUnsent) throw error
    ran = refusals.at(-1)
    if (!ran) return store.notSent(call, error)
  }
  if ('inputRequired' in ran) return store.askCaller!(call, ran.inputRequired)
  if (ran.result.isError && isIdempotent(callable) && how.isLeftToNext()) return null
  if (ran.outcome === 'unknown') takeLate(services, call, ran)
  return store.settle(call, ran)
}

/** Settles the call with what comes of it after it was reported as UNKNOWN. */
function takeLate(services: Services, call: ToolCall, { late }: Finished): void {
  void late?.then((outcome) => settleLate(services, newestAttempt(call), outcome))
}
