/** Runs the server calls of a step: committed before they are sent, recorded as each result arrives. */
import { errorResult } from '../../../core/content.ts'
import { nowPlus } from '../../../store/db/database.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import { interrupted } from '../../../store/work/worker.ts'
import {
  driftOf,
  driftResult,
  insertApprovals,
  requested,
  voidApprovals,
  voided,
} from '../../approvals/index.ts'
import { settleLate } from '../../calls/index.ts'
import { gatesOf } from '../../agents/index.ts'
import {
  asksAgent,
  codeOf,
  givenUpResult,
  goneResult,
  isGivenUp,
  isIdempotent,
  loadCall,
  known,
  mayStillRun,
  notValidResult,
  prepareCall,
  proposedCallable,
  runTool,
  statusOf,
  unknownResult,
  WithheldError,
  type Finished,
  type ToolCall,
  type Callable,
} from '../../tools/index.ts'
import { startRun } from './start-child.ts'
import type { CallChange, Change } from '../transaction/commit.ts'
import { dataOf, settleCall } from '../transaction/settle-call.ts'
import { maxParallelCalls, write, type Turn } from '../transaction/turn.ts'
import { writeSurely } from '../transaction/commit-surely.ts'

/** How many of the generation's calls run at once. */
export function concurrencyOf(turn: Turn): number {
  return turn.generation.settings.parallelToolCalls ? maxParallelCalls : 1
}

/**
 * Runs one call to its end. An EXECUTING call that this worker has not committed itself was left behind by a worker that
 * went away: an idempotent one is sent again under the same key, any other becomes UNKNOWN and is never sent twice. A
 * call of an agent starts its run and is left to it. An APPROVED call whose tool was changed meanwhile is asked about
 * again. One whose tool is used as often as its limit allows waits. When the row is another worker's before the outcome is written, the outcome settles the attempt all the same.
 */
export async function runServerCall(turn: Turn, call: ToolCall): Promise<void> {
  const isFresh = call.status === 'EXECUTING' && turn.unsent.get(call.id) === call.attempt
  if (call.status === 'APPROVED' && (await askedAgain(turn, call))) return
  if (!isFresh && call.status !== 'EXECUTING' && (await heldBack(turn, call))) return
  if (asksAgent(call)) return startRun(turn, call)
  const callable = await proposedCallable(turn.services, call)
  if (call.status === 'EXECUTING' && !isFresh && !(callable && isIdempotent(callable)))
    return settleCall(turn, call, unknownResult(), 'UNKNOWN')
  if (call.status === 'EXECUTING' && !isFresh && isGivenUp(call))
    return settleCall(turn, call, givenUpResult(), 'ERRORED')
  // A cancel leaves what was not sent unsent.
  if (turn.signal.aborted && !isFresh) return
  // Of a fresh one it was asked when the call was proposed, a moment ago.
  if (!isFresh && !(await mayStillRun(turn.services, call)))
    return settleCall(turn, call, notValidResult(), 'ERRORED')
  if (!isFresh) await markStarted(turn, call)
  await send(turn, call, callable)
}

/** Whether a limit of the tool or agent holds the call back. It stays as it is, and is due when a token is back. */
async function heldBack({ services, ...turn }: Turn, call: ToolCall): Promise<boolean> {
  if (!call.toolId) return false
  const scope = call.kind === 'agent' ? 'AGENT' : 'TOOL'
  const waitMs = await services.rates.takeUse(call.projectId, scope, call.toolId)
  if (waitMs === 0) return false
  await write(
    { services, ...turn },
    {
      wakeAt: nowPlus(services.limits.leaseMs),
      calls: [{ id: call.id, status: call.status, notBeforeMs: Math.ceil(waitMs) }],
    },
  )
  return true
}

async function send(turn: Turn, call: ToolCall, callable: Callable | null): Promise<void> {
  const ran = await run(turn, call, callable).catch((error: unknown) => {
    throw error instanceof WithheldError ? new LeaseLostError(turn.held.id) : error
  })
  turn.unsent.delete(call.id)
  const { result } = ran
  const stopped = turn.signal.aborted && turn.signal.reason !== interrupted
  // This process stops: the aborted call stays EXECUTING, and whoever takes the row sends it again.
  if (result.isError && callable && isIdempotent(callable) && stopped) return
  try {
    await settleCall(turn, call, result, statusOf(ran))
  } catch (error) {
    if (error instanceof LeaseLostError) void settleLate(turn.services, call, ran)
    throw error
  }
}

/** Whether nobody has agreed to what would run now. Then the approval is void, and asked again where that is possible. */
async function askedAgain(turn: Turn, call: ToolCall): Promise<boolean> {
  const drift = await driftOf(turn.services, call, gatesOf(turn.generation.settings))
  if (!drift) return false
  const { again, reason, tool, masks } = drift
  const masked = masks ? { masked: masks.call } : {}
  const result = again ? null : driftResult(reason)
  const change: CallChange = again
    ? {
        id: call.id,
        status: 'AWAITING_APPROVAL',
        approvalId: again.id,
        toolVersion: tool!.version,
        definitionHash: tool!.definitionHash,
        ...masked,
      }
    : { id: call.id, status: 'ERRORED', result, errorCode: codeOf(result!), ...masked }
  const settled = { type: 'TOOL_CALL_SETTLED', data: { ...dataOf(call), status: 'ERRORED' } }
  await write(turn, {
    wakeAt: nowPlus(turn.services.limits.leaseMs),
    calls: [change],
    also: [
      voidApprovals([call.approvalId!], reason, { masks: masks?.approval ?? null }),
      ...(again ? [insertApprovals([again])] : []),
    ],
    events: [voided(call, reason), again ? requested(again) : settled],
  })
  return true
}

async function markStarted(turn: Turn, call: ToolCall): Promise<void> {
  call.attempt += 1
  turn.unsent.set(call.id, call.attempt)
  const change: Change = {
    wakeAt: nowPlus(turn.services.limits.leaseMs),
    calls: [{ id: call.id, status: 'EXECUTING', starts: true }],
    events: [{ type: 'TOOL_CALL_STARTED', data: { ...dataOf(call), attempt: call.attempt } }],
  }
  await writeSurely(turn, change, async (db) => {
    const now = await loadCall(db, call.id)
    return now.status === 'EXECUTING' && now.attempt === call.attempt
  })
}

async function run(turn: Turn, call: ToolCall, callable: Callable | null): Promise<Finished> {
  if (!callable) return known(goneResult())
  const prepared = prepareCall(callable, call.arguments)
  if (!prepared.ok) return known(errorResult('invalid_arguments', 'The arguments no longer fit the tool.'))
  // Before anything is sent: this process may have stood still since the commit.
  await turn.lease.confirm()
  return runTool(turn.services, {
    projectId: call.projectId,
    callable,
    merged: prepared.merged,
    attachments: call.attachments,
    callId: call.id,
    requestedBy: call.requestedBy,
    requester: call.requester,
    // What may take effect is heard out even when the generation is cancelled: its outcome must be known.
    signal: isIdempotent(callable) ? turn.signal : new AbortController().signal,
    mayStart() {
      const may = turn.lease.isSure()
      if (may) turn.unsent.delete(call.id)
      return may
    },
  })
}
