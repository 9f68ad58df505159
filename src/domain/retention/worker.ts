/**
 * The sweeps of this process: the retention of a project is claimed by one process at a time, which removes batch
 * after batch until nothing more is due.
 */
import { nowPlus, query, timeOf, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { retentions } from '../../store/db/tables/retention.ts'
import { releaseEpoch, LeaseLostError, type HeldRow, claim, release } from '../../store/work/work.ts'
import type { Services } from '../access/index.ts'
import { daysBefore, type RemovedCounts, removedKinds, sumOf, type RetentionRow } from './lease.ts'
import { deleteBlobs } from './remove-files.ts'
import {
  removeAuditEntries,
  removeCalls,
  removeDeliveries,
  removeEvents,
  removeFiles,
  removeThreads,
  type RemoveBatch,
} from './remove-others.ts'
import { serveRemovals } from './removals.ts'
import { sweepBatches, sweepRuns, type Sweep } from './passes.ts'
import { startWorker, type Worker } from '../../store/work/worker.ts'

/** The time between the end of a sweep and the next one, in milliseconds. */
export const sweepEveryMs = 60 * 60 * 1000

/**
 * Removes what is due in a project and gives its row back. Ends early when the process stops; LeaseLostError when another one
 * has the row. `now`: the time by which ages count; by default that of the database.
 */
export async function sweepProject(
  services: Pick<Services, 'db' | 'blobs' | 'pubsub'>,
  held: HeldRow,
  goesOn: () => Promise<boolean>,
  now?: Date,
): Promise<RemovedCounts | null> {
  const { db } = services
  const row = await begin(db, held)
  const sweep: Sweep = {
    services,
    held,
    projectId: row.projectId,
    now: now ?? new Date(await timeOf(db)),
    goesOn,
  }
  const before = (days: number | null) => daysBefore(sweep.now.getTime(), days)
  const kinds: [Date | null, RemoveBatch][] = [
    [before(row.runDays), removeCalls(null)],
    [before(row.runDays), removeThreads(null)],
    [before(row.eventDays), removeEvents],
    [before(row.deliveryDays), removeDeliveries],
    [before(row.fileDays), removeFiles(null)],
    [before(row.auditDays), removeAuditEntries],
  ]
  const runsBefore = before(row.runDays)
  let done = !runsBefore || (await sweepRuns(sweep, { before: runsBefore, requester: null }))
  for (const [when, remove] of kinds) done &&= !when || (await sweepBatches(sweep, remove, when))
  done &&= await serveRemovals(sweep)
  while (done && (await goesOn()) && (await deleteBlobs(services, row.projectId, 100)) > 0);
  return done && (await goesOn()) ? end(db, held, row) : null
}

/** Says that a sweep has begun; one that another process has left unfinished goes on. */
async function begin(db: Database, { id, epoch }: HeldRow): Promise<RetentionRow> {
  await query(
    db,
    sql`update retentions set
        last_removed = case when status = 'SWEEPING' then last_removed else '{}'::jsonb end,
        last_started_at = case when status = 'SWEEPING' then last_started_at else now() end,
        status = 'SWEEPING'
      where id = ${id} and epoch = ${epoch}::int and wake_at is not null`,
  )
  const [row] = await selectRows(db, retentions, sql`where id = ${id} and epoch = ${epoch}::int`)
  if (row?.status !== 'SWEEPING') throw new LeaseLostError(id)
  return row
}

/** Gives the row back until the next sweep, or for ever when nothing is ever removed. Returns what was removed. */
async function end(db: Database, { id, epoch }: HeldRow, row: RetentionRow): Promise<RemovedCounts> {
  const isOn = [row.runDays, row.eventDays, row.fileDays, row.deliveryDays, row.auditDays].some(
    (days) => days !== null,
  )
  const isOwed = sql`(
      exists (select 1 from data_removals where project_id = ${row.projectId} and finished_at is null)
      or exists (select 1 from removed_blobs where project_id = ${row.projectId})
    )`
  const rows = await query<{ removed: RemovedCounts }>(
    db,
    sql`update retentions set
        status = 'IDLE',
        last_finished_at = now(),
        wake_at = case when ${isOn}::boolean or ${isOwed} then ${nowPlus(sweepEveryMs)} end,
        ${releaseEpoch}
      where id = ${id} and epoch = ${epoch}::int
      returning last_removed as removed`,
  )
  // Whoever changes the settings meanwhile makes the row due under another epoch.
  if (!rows[0]) throw new LeaseLostError(id)
  return rows[0].removed
}

/** Sweeps at the same time: each sends one statement at a time. */
const slots = 2

export interface RetentionWorker extends Pick<Worker, 'drain' | 'stop'> {
  /** What this process has removed, and the sweeps that it has finished and that have failed. */
  counts(): { removed: RemovedCounts; sweeps: number; failures: number }
}

export function startRetention(services: Services): RetentionWorker {
  const { leaseDb, heartbeat, pubsub, schedule, limits, log } = services
  const totals = { removed: {} as RemovedCounts, sweeps: 0, failures: 0 }
  const worker = startWorker({
    db: leaseDb,
    pubsub,
    table: 'retentions',
    leases: heartbeat.of('retentions'),
    slots,
    schedule,
    claim: (limit) => claim(leaseDb, 'retentions', limits.leaseMs, limit),
    async run(held, { lease, isDraining, signal }) {
      const goesOn = async () => {
        if (isDraining() || signal.aborted) return false
        await lease.confirm()
        return true
      }
      const removed = await sweepProject(services, held, goesOn)
      if (!removed) return isDraining() ? release(leaseDb, 'retentions', [held]) : undefined
      totals.sweeps++
      totals.removed = sumOf(totals.removed, removed)
      pubsub.publish([{ kind: 'news', projectId: held.projectId, generationId: null, seq: null }])
      if (removedKinds.some((kind) => removed[kind]))
        log.info({ projectId: held.projectId, removed }, 'retention has removed what was due')
    },
    onError(error, id) {
      totals.failures++
      log.error(
        { err: error, id },
        'a retention sweep was interrupted by an unexpected error; it is taken up again',
      )
    },
  })
  return { drain: () => worker.drain(), stop: (graceMs) => worker.stop(graceMs), counts: () => totals }
}
