/**
 * This process's worker of calls outside generations: approved ones, those whose worker was lost, and those whose
 * caller did not come back in time.
 */
import { errorResult } from '../../core/content.ts'
import { momentNow } from '../../core/time.ts'
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { whenAnswered } from '../../store/work/leases.ts'
import { LeaseLostError, release, type ClaimedRow, type HeldRow, claim } from '../../store/work/work.ts'
import { type WorkControl, startWorker, type Worker } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
import {
  stateOfCall,
  stateOfRow,
  type DecidedOwner,
  type RunState,
  type RunStateRow,
} from '../approvals/index.ts'
import { forgetWake, keepForCaller, underLease, type ToolCall } from '../tool-calls/index.ts'
import { finish, finishUnsent, unknownResult } from '../tools/index.ts'
import { directStore, settleOnce, type Settler } from './direct-store.ts'
import { execute } from './execute.ts'

const executable: readonly ToolCall['status'][] = ['PROPOSED', 'APPROVED', 'EXECUTING']
const noAnswers = errorResult('client_timeout', 'The caller gave no answer to what the tool asked in time.')

/** A call that this process has claimed. */
type HeldCall = ClaimedRow & Pick<DecidedOwner, 'claimed'>

/**
 * Works on a claimed call. Executes PROPOSED, APPROVED and EXECUTING ones. A call that waits for an approval is due when its
 * caller disconnected, and is withdrawn; a call that waits for its caller's responses is due when their time is over.
 */
async function workOnCall(
  services: Services,
  held: HeldCall,
  { lease, signal, isDraining, isOutdated }: WorkControl,
): Promise<void> {
  const read = () => whenAnswered(() => loadState(services.db, held), services.limits.leaseMs, true)
  const { calls, agreed, toolVersions } = (isOutdated ? null : held.claimed) ?? (await read())
  const call = calls[0]!
  if (call.kind === 'client') return waitForCaller(services, held, call)
  if (executable.includes(call.status)) {
    // A draining process starts nothing new.
    if (isDraining()) return release(services.leaseDb, 'tool_calls', [held])
    const [approval] = agreed
    await execute(services, call, {
      store: directStore(services, lease),
      lease,
      signal,
      isFresh: false,
      trace: { continues: call.trace ?? undefined },
      gates: call.agentGate ? [call.agentGate] : [],
      agreed: approval && { approval, toolVersions },
      isLeftToNext: () => signal.aborted,
    })
    return
  }
  if (call.status === 'AWAITING_CLIENT')
    return void (await settleOnce(services, held, call, finish(noAnswers)))
  await query(services.db, forgetWake(call.id, underLease(held)))
}

/** How long the caller has to take a call that was approved, in milliseconds. */
const takeMs = 24 * 60 * 60_000
const notTaken = errorResult('client_timeout', 'Nobody came back for this call in time; it was not run.')

/**
 * A call that its caller runs: one that was approved is kept for it, and one that it took and said nothing about is UNKNOWN when
 * its time is over. Nothing of it is ever sent from here.
 */
async function waitForCaller(services: Services, held: HeldRow, call: ToolCall): Promise<void> {
  if (call.status === 'EXECUTING') return settleLost(services, held, call)
  if (call.status !== 'APPROVED' && call.status !== 'PROPOSED')
    return void (await query(services.db, forgetWake(call.id, underLease(held))))
  if (call.deadlineAt === null || call.deadlineAt.getTime() > services.clock.now())
    return void (await query(services.db, keepForCaller(call.id, takeMs, underLease(held))))
  await settleOnce(services, held, call, finishUnsent(notTaken))
}

/** The call as it is now. LeaseLostError when another worker holds the row. */
async function loadState(db: Database, { id, epoch }: HeldRow): Promise<RunState> {
  const readAt = momentNow()
  const which = sql`from tool_calls as t where t.id = ${id} and t.epoch = ${epoch}::int`
  const [row] = await query<RunStateRow>(db, sql`select ${stateOfCall} ${which}`)
  if (!row) throw new LeaseLostError(id)
  return stateOfRow(row, readAt)
}

/** Settles a call whose worker was lost as UNKNOWN, if the lease still holds. */
export async function settleLost(services: Settler, held: HeldRow, call: ToolCall): Promise<void> {
  await settleOnce(services, held, call, { result: unknownResult(), outcome: 'unknown' })
}

/** `slots`: how many calls run at once. */
export function startCallWorker(
  services: Services,
  { slots }: { slots: number },
): Pick<Worker, 'drain' | 'stop'> {
  const { leaseDb, heartbeat, slots: freeSlots, pubsub, schedule, limits, log } = services
  return startWorker<HeldCall>({
    db: leaseDb,
    pubsub,
    table: 'tool_calls',
    leases: heartbeat.of('tool_calls'),
    freeSlots,
    slots,
    schedule,
    claim: (limit) => claim(leaseDb, 'tool_calls', limits.leaseMs, limit),
    run: (held, control) => workOnCall(services, held, control),
    onError: (error, id) =>
      log.error({ err: error, id }, 'a call was interrupted by an unexpected error; it is taken up again'),
  })
}
