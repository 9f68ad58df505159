/** Runs the server calls of a step: committed before they are sent, recorded as each result arrives. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import { nowPlus } from '../../store/db/database.ts'
import { interrupted } from '../../store/work/worker.ts'
import {
  driftOf,
  driftResult,
  insertApprovals,
  requested,
  voidApprovals,
  voided,
} from '../approvals/index.ts'
import { gatesOf } from '../agents/index.ts'
import {
  asksAgent,
  codeOf,
  goneResult,
  isIdempotent,
  prepareCall,
  proposedCallable,
  runTool,
  unknownResult,
  type ToolCall,
  type Callable,
} from '../tools/index.ts'
import { startRun } from './child-runs.ts'
import type { CallChange } from './commit.ts'
import { dataOf, settleCall } from './settle-call.ts'
import { maxParallelCalls, write, type Turn } from './turn.ts'

/** How many of the generation's calls run at once. */
export function lanesOf(turn: Turn): number {
  return turn.generation.settings.parallelToolCalls ? maxParallelCalls : 1
}

/**
 * Runs one call to its end. `fresh` says that this worker has itself just committed it as EXECUTING. Else an EXECUTING
 * call was left behind by a worker that went away: an idempotent one is sent again under the same key, any other
 * becomes UNKNOWN and is never sent twice. A call of an agent starts its run and is left to it. An APPROVED call whose tool was changed meanwhile is asked about again.
 */
export async function runServerCall(turn: Turn, call: ToolCall, fresh: boolean): Promise<void> {
  const isFresh = fresh && call.status === 'EXECUTING'
  if (call.status === 'APPROVED' && (await askedAgain(turn, call))) return
  if (asksAgent(call)) return startRun(turn, call)
  const callable = await proposedCallable(turn.house, call)
  if (call.status === 'EXECUTING' && !isFresh && !(callable && isIdempotent(callable)))
    return settleCall(turn, call, unknownResult(), 'UNKNOWN')
  // A cancel leaves what was not sent unsent.
  if (turn.signal.aborted && !isFresh) return
  if (!isFresh) await markStarted(turn, call)
  const result = await run(turn, call, callable)
  const stopped = turn.signal.aborted && turn.signal.reason !== interrupted
  // This process stops: the aborted call stays EXECUTING, and whoever takes the row sends it again.
  if (result.isError && callable && isIdempotent(callable) && stopped) return
  await settleCall(turn, call, result, result.isError ? 'ERRORED' : 'SUCCEEDED')
}

/** Whether nobody has agreed to what would run now. Then the approval is void, and asked again where that is possible. */
async function askedAgain(turn: Turn, call: ToolCall): Promise<boolean> {
  const drift = await driftOf(turn.house, call, gatesOf(turn.generation.settings))
  if (!drift) return false
  const { again, reason, tool } = drift
  const result = again ? null : driftResult(reason)
  const change: CallChange = again
    ? {
        id: call.id,
        status: 'AWAITING_APPROVAL',
        approvalId: again.id,
        toolVersion: tool!.version,
        definitionHash: tool!.definitionHash,
      }
    : { id: call.id, status: 'ERRORED', result, errorCode: codeOf(result!) }
  const settled = { type: 'TOOL_CALL_SETTLED', data: { ...dataOf(call), status: 'ERRORED' } }
  await write(turn, {
    wakeAt: nowPlus(turn.house.limits.leaseMs),
    calls: [change],
    also: [voidApprovals([call.approvalId!], reason), ...(again ? [insertApprovals([again])] : [])],
    events: [voided(call, reason), again ? requested(again) : settled],
  })
  return true
}

async function markStarted(turn: Turn, call: ToolCall): Promise<void> {
  call.attempt += 1
  await write(turn, {
    wakeAt: nowPlus(turn.house.limits.leaseMs),
    calls: [{ id: call.id, status: 'EXECUTING', starts: true }],
    events: [{ type: 'TOOL_CALL_STARTED', data: { ...dataOf(call), attempt: call.attempt } }],
  })
}

async function run(turn: Turn, call: ToolCall, callable: Callable | null): Promise<ToolResult> {
  if (!callable) return goneResult()
  const prepared = prepareCall(callable, call.arguments)
  if (!prepared.ok) return errorResult('invalid_arguments', 'The arguments no longer fit the tool.')
  return runTool(turn.house, {
    projectId: call.projectId,
    callable,
    merged: prepared.merged,
    attachments: call.attachments,
    callId: call.id,
    requestedBy: call.requestedBy,
    // What may take effect is heard out even when the generation is cancelled: its outcome must be known.
    signal: isIdempotent(callable) ? turn.signal : new AbortController().signal,
  })
}
