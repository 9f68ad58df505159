/**
 * The schedules of this installation: a tick is claimed by one process, and its run is inserted in the transaction that
 * moves the row to the next tick, under the epoch of the claim.
 */
import { atomically, query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { isRefused } from '../../store/db/storage-error.ts'
import { triggers } from '../../store/db/tables/triggers.ts'
import { claim, releaseEpoch, LeaseLostError, type HeldRow } from '../../store/work/work.ts'
import { startWorker, type Worker } from '../../store/work/worker.ts'
import { actingPrincipal, asAppError, publishNews, type Services } from '../access/index.ts'
import { appendProjectEvents, triggerSkipped } from '../events/index.ts'
import { dueTick, type TriggerRow } from './trigger.ts'
import { startRun } from './start.ts'

/** How the keys of ticks begin. */
const tickKeys = 'tick/'

/** Ticks in work at the same time: each is a few statements. */
const slots = 4

export function startTriggers(services: Services): Pick<Worker, 'drain' | 'stop'> {
  const { leaseDb, heartbeat, pubsub, schedule, limits, log } = services
  return startWorker({
    db: leaseDb,
    pubsub,
    table: 'triggers',
    leases: heartbeat.of('triggers'),
    slots,
    schedule,
    claim: (limit) => claim(leaseDb, 'triggers', limits.leaseMs, limit),
    run: (held) => serveTick(services, held),
    onError: (error, id) =>
      log.error({ err: error, id }, 'a tick was interrupted by an unexpected error; it is taken up again'),
  })
}

/** The tick of a held row, and the row after it. */
interface Tick {
  row: TriggerRow
  at: Date
  missed: number
  /** Moves the row to the next tick and gives it back. */
  moved: SQL
  /** That this process still holds the row. */
  still: SQL
}

/** Starts the run of the tick of a held row, or says why there is none, and gives the row back. */
export async function serveTick(services: Services, held: HeldRow): Promise<void> {
  const { db } = services
  const still = sql`epoch = ${held.epoch}::int and status = 'ENABLED'`
  const [row] = await selectRows<typeof triggers, { now: number }>(
    db,
    triggers,
    sql`where id = ${held.id} and ${still}`,
    sql`, (extract(epoch from now()) * 1000)::float8 as now`,
  )
  if (!row?.nextAt) return
  const now = new Date(row.now)
  if (row.nextAt > now) {
    // Given back before: its lease, and not its tick, was over.
    await query(db, sql`update triggers set ${movedTo(row.nextAt)} where id = ${row.id} and ${still}`)
    return
  }
  const { tick: at, missed, next } = dueTick(row.cron!, row.timeZone!, row.nextAt, now)
  const tick = { row, at, missed, moved: movedTo(next), still }
  if (await isTickOpen(db, row)) return skip(services, tick, 'OVERLAP', 'The run before has not ended.')
  const principal = await actingPrincipal(db, row.projectId, row.requestedBy, services.clock.now())
  if (!principal) return skip(services, tick, 'REQUESTER_GONE', requesterGone)
  const ctx = { ...services, principal, requestId: row.id, remoteAddress: null }
  try {
    await startRun(ctx, row, {
      key: `${tickKeys}${at.toISOString()}`,
      prompt: row.prompt,
      missed,
      set: tick.moved,
      still,
      lost: () => new LeaseLostError(row.id),
    })
  } catch (error) {
    if (isRefused(error)) {
      services.log.error({ err: error, id: row.id }, 'the database refused to store the run of a schedule')
      return skip(services, tick, 'NOT_STORED', 'The database refused to store the run.')
    }
    const known = asAppError(error)
    // What the database did not answer is tried again when the lease ends.
    if (!known || known.code === 'UNAVAILABLE') throw error
    return skip(services, tick, known.code, known.message)
  }
}

export const requesterGone =
  'Whoever saved this trigger last may not act any more: the key was revoked or has expired, or the session has ended.'

function movedTo(next: Date | null): SQL {
  const at = sql`${next?.toISOString() ?? null}::timestamptz`
  return sql`next_at = ${at}, wake_at = ${at}, ${releaseEpoch}`
}

/** Whether the run of the last tick has not ended. One that was started by hand stands for none and holds up none. */
async function isTickOpen(db: Database, { id, projectId }: TriggerRow): Promise<boolean> {
  const rows = await query(
    db,
    sql`select 1
      from generations
      where id = (
          select generation_id
          from trigger_starts
          where project_id = ${projectId} and trigger_id = ${id} and key like ${`${tickKeys}%`}
          order by at desc
          limit 1
        )
        and finished_at is null`,
  )
  return rows.length > 0
}

/** Moves on without a run, and says why. */
async function skip(services: Services, tick: Tick, reason: string, message: string): Promise<void> {
  const { row, missed, moved, still } = tick
  await atomically(services.db, async (tx) => {
    const written = await query(
      tx,
      sql`update triggers set ${moved}, last_error = ${message}, last_at = now(), missed = ${missed}::int
        where id = ${row.id} and ${still}
        returning 1`,
    )
    if (written.length === 0) throw new LeaseLostError(row.id)
    await appendProjectEvents(tx, row.projectId, [triggerSkipped({ triggerId: row.id, reason, missed })])
  })
  publishNews(services, row.projectId)
}
