/**
 * A worker's step for a call that is its own work row: executes it, or settles it when its caller did not come back
 * in time.
 */
import { errorResult } from '../../core/content.ts'
import { query } from '../../store/db/database.ts'
import { whenAnswered } from '../../store/work/read-back.ts'
import { release, type Held } from '../../store/work/work.ts'
import type { WorkControl } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import { forgetWake, loadCall, underLease, type ToolCall } from '../tool-calls/index.ts'
import { known, unknownResult } from '../tools/index.ts'
import { directStore, settleOnce, type Settler } from './direct-store.ts'
import { execute } from './execute.ts'
import { withdrawAbandoned } from './withdraw.ts'

const executable: readonly ToolCall['status'][] = ['PROPOSED', 'APPROVED', 'EXECUTING']
const noAnswers = errorResult('client_timeout', 'The caller gave no answer to what the tool asked in time.')

/**
 * Works on a claimed call. Executes PROPOSED, APPROVED and EXECUTING ones. A call that waits for an approval is due
 * when its caller disconnected, and is withdrawn; a call that waits for its caller's responses is due when their time
 * is over.
 */
export async function workOnCall(services: Services, held: Held, control: WorkControl): Promise<void> {
  const { lease, signal } = control
  const call = await whenAnswered(() => loadCall(services.db, held.id), services.limits.leaseMs, true)
  if (executable.includes(call.status)) {
    // A draining process starts nothing new.
    if (control.isDraining()) return release(services.leaseDb, 'tool_calls', [held])
    await execute(services, call, {
      store: directStore(services, lease),
      lease,
      signal,
      isFresh: false,
      gates: call.agentGate ? [call.agentGate] : [],
      isLeftToNext: () => signal.aborted,
    })
    return
  }
  if (call.status === 'AWAITING_CLIENT')
    return void (await settleOnce(services, held, call, known(noAnswers)))
  if (call.status === 'AWAITING_APPROVAL') await withdrawAbandoned(services, call)
  await query(services.db, forgetWake(call.id, underLease(held)))
}

/** Settles a call whose worker was lost as UNKNOWN, if the lease still holds. */
export async function settleLost(services: Settler, held: Held, call: ToolCall): Promise<void> {
  await settleOnce(services, held, call, { result: unknownResult(), outcome: 'unknown' })
}
