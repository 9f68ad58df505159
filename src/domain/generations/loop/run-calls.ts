/** Runs the calls of a step, or gives them to their client: executes them with a store that writes in commits of the generation. */
import { momentNow } from '../../../core/time.ts'
import { nowPlus } from '../../../store/db/database.ts'
import type { Basis } from '../../basis/index.ts'
import { isRefused, isStorageError } from '../../../store/db/storage-error.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import { interruption } from '../../../store/work/worker.ts'
import { gatesOf } from '../../agents/index.ts'
import {
  changesOfDrift,
  changesOfLogin,
  type AgreedCall,
  type Drift,
  type NewApproval,
} from '../../approvals/index.ts'
import { execute, notSent, settleLate, settleStorable, type CallStore } from '../../calls/index.ts'
import { requiresAction } from '../../events/index.ts'
import {
  callStarted,
  holdBack,
  inGeneration,
  isNewest,
  loadCall,
  mayHaveRun,
  newestAttempt,
  offerCall,
  park,
  startCall,
  withAttempt,
  type ToolCall,
} from '../../tool-calls/index.ts'
import { statusOf, type FinishedCall } from '../../tools/index.ts'
import { commitWithOutageRetry, settleCall } from '../transaction/commit-with-outage-retry.ts'
import { isPaused, whilePaused, maxParallelCalls, commitTurn, type Turn } from '../transaction/turn.ts'
import { startChild } from './start-child.ts'

/** How many of the generation's calls run at once. */
export function concurrencyOf(turn: Turn): number {
  return turn.generation.settings.parallelToolCalls ? maxParallelCalls : 1
}

/**
 * Runs one call to its end, unless the process has begun to shut down while the call waited for a free place: then the row's
 * next worker runs it. A call of an agent starts its child run, which settles the call later. When another
 * worker takes the row before the outcome is written, the outcome still settles its attempt.
 */
export async function runServerCall(turn: Turn, call: ToolCall): Promise<void> {
  const isFresh = call.status === 'EXECUTING' && isNewest(turn.unsent.get(call.id), call)
  if (turn.isDraining() && !isFresh) return
  await execute(turn.services, call, {
    store: storeOf(turn),
    lease: turn.lease,
    signal: turn.signal,
    isFresh,
    begunAt: turn.unsent.get(call.id)?.begunAt,
    trace: { parent: turn.held.activation?.trace },
    gates: gatesOf(turn.generation.settings),
    agreed: agreedOf(turn, call),
    isLeftToNext: () => turn.signal.aborted && turn.signal.reason !== interruption,
  })
}

function agreedOf({ agreed, toolVersions }: Turn, call: ToolCall): AgreedCall | undefined {
  const approval = agreed.find(({ id }) => id === call.approvalId)
  return approval && { approval, toolVersions }
}

function storeOf(turn: Turn): CallStore<void> {
  return {
    start: (call, basis) => start(turn, call, basis),
    offer: (call, basis) => offer(turn, call, basis),
    settle: (call, finished) => settle(turn, call, finished),
    askAgain: (call, drift) => voidAndAskAgain(turn, call, drift),
    askLogin: (call, question) => stopForLogin(turn, call, question),
    holdBack: (call, waitMs) =>
      commitTurn(turn, { wakeAt: leaseEnd(turn), calls: [holdBack(call.id, waitMs, inGeneration, false)] }),
    park: (call) => parkCall(turn, call),
    isPaused: (call) => isPaused(turn, toolsOf(call)),
    onSend: (call) => void turn.unsent.delete(call.id),
    async notSent(call, reason) {
      if (isRefused(reason) && !mayHaveRun(call)) return settle(turn, call, notSent)
      // The call stays in `unsent`: this worker sends it after reading the rows again, or records that it was not
      // sent.
      throw reason instanceof LeaseLostError || isStorageError(reason)
        ? reason
        : new LeaseLostError(turn.held.id)
    },
    startChild: (call) => startChild(turn, call),
  }
}

async function start(turn: Turn, call: ToolCall, basis: Basis): Promise<ToolCall> {
  const started = withAttempt(call, turn.services.clock.now())
  const own = newestAttempt(started)
  turn.unsent.set(call.id, { ...own, begunAt: momentNow() })
  const change = {
    wakeAt: leaseEnd(turn),
    starting: [call.id],
    sends: toolsOf(call),
    calls: [startCall(call.id, inGeneration, { token: own.token! })],
    events: [callStarted(call, own.attempt)],
    basis,
  }
  await commitWithOutageRetry(turn, change, async (db) => {
    const now = await loadCall(db, call.id)
    return now.status === 'EXECUTING' && isNewest(own, now)
  })
  return started
}

async function offer(turn: Turn, call: ToolCall, basis: Basis): Promise<void> {
  const change = {
    wakeAt: leaseEnd(turn),
    starting: [call.id],
    sends: toolsOf(call),
    calls: [offerCall(call.id, turn.generation.settings.clientTimeoutMs, inGeneration)],
    events: [requiresAction({ toolCallIds: [call.id] })],
    basis,
  }
  await commitWithOutageRetry(turn, change, async (db) => {
    const { status } = await loadCall(db, call.id)
    return status !== 'PROPOSED' && status !== 'APPROVED'
  })
}

function toolsOf({ toolId }: ToolCall): string[] {
  return toolId ? [toolId] : []
}

/** Parks the call while a pause holds it: the run goes on with its others. */
function parkCall(turn: Turn, call: ToolCall): Promise<boolean> {
  return whilePaused(turn, toolsOf(call), {
    wakeAt: leaseEnd(turn),
    calls: [park(call.id, inGeneration, false)],
  })
}

async function settle(turn: Turn, call: ToolCall, finished: FinishedCall): Promise<void> {
  turn.unsent.delete(call.id)
  try {
    await settleStorable(turn.services, call, finished, (told) =>
      settleCall(turn, call, told.result, statusOf(told)),
    )
  } catch (error) {
    if (error instanceof LeaseLostError) void settleLate(turn.services, newestAttempt(call), finished)
    throw error
  }
}

/** Voids the approval and asks for a new one in the same commit, or settles the call when it cannot be asked about. */
async function voidAndAskAgain(turn: Turn, call: ToolCall, drift: Drift): Promise<void> {
  const { call: changed, approvals, events } = changesOfDrift(call, drift, inGeneration)
  await commitTurn(turn, { wakeAt: leaseEnd(turn), calls: [changed], also: approvals, events })
}

/** Asks for the login of the person for whom the run is made. The run goes on with its other calls. */
async function stopForLogin(turn: Turn, call: ToolCall, question: NewApproval): Promise<void> {
  const how = { requestHash: null, proof: inGeneration, isOwnRow: false }
  const { call: changed, approvals, events } = changesOfLogin(call, question, how)
  const change = { wakeAt: leaseEnd(turn), calls: [changed], also: approvals, events }
  await commitWithOutageRetry(turn, change, async (db) => {
    const now = await loadCall(db, call.id)
    return now.approvalId === question.id
  })
  turn.unsent.delete(call.id)
}

function leaseEnd({ services }: Turn) {
  return nowPlus(services.limits.leaseMs)
}
