/**
 * A worker's step for a call that is its own work row: executes it, or settles it when its caller did not come back
 * in time.
 */
import { errorResult } from '../../core/content.ts'
import { query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { whenAnswered } from '../../store/work/read-back.ts'
import { release, type Held } from '../../store/work/work.ts'
import type { WorkControl } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import { agreedAsJson, approvalsOfJson, type Agreed } from '../approvals/index.ts'
import { forgetWake, toolCallOf, underLease, type ToolCall } from '../tool-calls/index.ts'
import { finished, toolVersionsOf, unknownResult, type ToolVersions } from '../tools/index.ts'
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
  const { call, agreed } = await whenAnswered(
    () => loadWork(services.db, held.id),
    services.limits.leaseMs,
    true,
  )
  if (executable.includes(call.status)) {
    // A draining process starts nothing new.
    if (control.isDraining()) return release(services.leaseDb, 'tool_calls', [held])
    await execute(services, call, {
      store: directStore(services, lease),
      lease,
      signal,
      isFresh: false,
      trace: { continues: call.trace ?? undefined },
      gates: call.agentGate ? [call.agentGate] : [],
      agreed,
      isLeftToNext: () => signal.aborted,
    })
    return
  }
  if (call.status === 'AWAITING_CLIENT')
    return void (await settleOnce(services, held, call, finished(noAnswers)))
  if (call.status === 'AWAITING_APPROVAL') await withdrawAbandoned(services, call)
  await query(services.db, forgetWake(call.id, underLease(held)))
}

/** The call, and what was agreed to when it is an approved one, read at one moment. */
async function loadWork(db: Database, id: string): Promise<{ call: ToolCall; agreed: Agreed | undefined }> {
  const [row] = await selectRows<typeof toolCalls, { agreed: object[]; toolVersions: ToolVersions }>(
    db,
    toolCalls,
    sql`where id = ${id}`,
    sql`, ${agreedAsJson(sql`c.id = ${id}`)} as agreed,
      ${toolVersionsOf(sql`tool_calls.tool_id`)} as "toolVersions"`,
  )
  const { agreed, toolVersions, ...call } = row!
  const [approval] = approvalsOfJson(agreed)
  return { call: toolCallOf(call), agreed: approval && { approval, toolVersions } }
}

/** Settles a call whose worker was lost as UNKNOWN, if the lease still holds. */
export async function settleLost(services: Settler, held: Held, call: ToolCall): Promise<void> {
  await settleOnce(services, held, call, { result: unknownResult(), outcome: 'unknown' })
}
