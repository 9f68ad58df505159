/** The run or call that a verdict has claimed for a worker of this process, as the statement has left it. */
import type { ClaimedOwner } from '../../store/work/owner.ts'
import type { ToolCall } from '../tool-calls/index.ts'
import { codeOf } from '../tools/index.ts'
import type { Approval } from './approval.ts'
import type { Outcome } from './outcome.ts'
import type { SeenOwner } from './run-state.ts'

/** What the worker of a run or call gets that a verdict has claimed. */
export interface DecidedOwner extends ClaimedOwner {
  /** As it is now; absent: it must be read. */
  claimed?: SeenOwner
}

/** The run or call after the verdict, whose statement has claimed it. `now`: time of the transaction, in milliseconds since 1970. */
export function afterVerdict(
  { row, ...state }: SeenOwner,
  approval: Approval,
  { call: decided }: Outcome,
  written: { seq: number; now: number },
): SeenOwner {
  const now = new Date(written.now)
  const after = (call: ToolCall) => (call.id === approval.toolCallId ? decidedCall(call, decided, now) : call)
  const agreed = decided?.status === 'APPROVED' ? [...state.agreed, approval] : state.agreed
  const decidedState = { ...state, calls: state.calls.map(after), agreed }
  return row
    ? { ...decidedState, row: { ...row, status: 'RUNNING', lastSeq: written.seq } }
    : { ...decidedState, row }
}

function decidedCall(call: ToolCall, decided: Outcome['call'], now: Date): ToolCall {
  if (!decided) return call
  if (!('result' in decided)) return { ...call, status: decided.status }
  const { status, result } = decided
  return {
    ...call,
    status,
    result,
    isError: result.isError,
    errorCode: codeOf(result),
    settledAt: now,
  }
}
