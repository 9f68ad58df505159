/** A follower of the event log in this process: claims places with events behind them, and works on each in rounds. */
import type { Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { isOutage } from '../../store/db/storage-error.ts'
import type { Position } from '../../store/events/position.ts'
import { watchNews } from '../../store/work/news.ts'
import { afterOutage, readBack } from '../../store/work/leases.ts'
import { release, type HeldRow } from '../../store/work/work.ts'
import { startWorker, type WorkControl } from '../../store/work/worker.ts'
import { systemId, type Services } from '../access/index.ts'
import { insertEntries, type NewAuditEntry } from '../audit/index.ts'
import {
  insertProjectEvents,
  readPart,
  type ProjectEvent,
  type LogPage,
  type LogPart,
} from '../events/index.ts'
import { claimPlaces, countPlaces, isAnyDue, type Places } from './place.ts'

/** What every request of a round is sent under. */
export interface SendGuard {
  /** Whether the lease surely lasts and the process goes on: else nothing is sent. */
  mayStart(): boolean
  signal: AbortSignal
}

export interface Follower {
  places: Places
  /** What a row is called in messages of the server. */
  name: string
  /** Rows in work at the same time. */
  slots: number
  /** Reads, sends and commits once. `ended`: the row was given back. */
  round(held: HeldRow, guard: SendGuard): Promise<'on' | 'ended'>
}

export interface RunningFollower {
  drain(): void
  stop(graceMs: number): Promise<void>
}

/**
 * Starts a follower. It sends no statement while the log does not grow and no row is due. An event whose hint was lost is
 * found by the next poll of the schedule.
 */
export function startFollower(services: Services, follower: Follower): RunningFollower {
  const { leaseDb, heartbeat, pubsub, schedule, limits, log } = services
  const { places, name, slots } = follower
  const { table } = places
  const news = watchNews(
    services,
    table,
    () => countPlaces(leaseDb, places),
    () => worker.poll(),
  )
  const worker = startWorker({
    db: leaseDb,
    pubsub,
    table,
    leases: heartbeat.of(table),
    slots,
    schedule,
    claim: async (limit) => {
      const polled = news.polling()
      const rows = await claimPlaces(leaseDb, places, limits.leaseMs, limit)
      const tookAll = rows.length < limit.limit && !limit.crowded?.length
      if (polled && tookAll && !(await isAnyDue(leaseDb, places))) polled()
      return rows
    },
    run: async (held, control) => {
      await follow(services, follower, held, control)
      // What was numbered while the row was held had its hint before it was given back.
      news.pollSoon()
    },
    onError: (error, id) =>
      log.error({ err: error, id }, `${name} was interrupted by an unexpected error; it is taken up again`),
  })
  return {
    drain() {
      news.stop()
      worker.drain()
    },
    async stop(graceMs) {
      news.stop()
      await worker.stop(graceMs)
    },
  }
}

/** Rounds until the row was given back. Ends early when the process stops or the lease is lost. */
export async function follow(
  { leaseDb }: Pick<Services, 'leaseDb'>,
  { places, round }: Follower,
  held: HeldRow,
  { lease, signal, isDraining }: Pick<WorkControl, 'lease' | 'signal' | 'isDraining'>,
): Promise<void> {
  const guard = { mayStart: () => lease.isSure() && !isDraining(), signal }
  for (let failures = 0; !signal.aborted;) {
    if (isDraining()) return release(leaseDb, places.table, [held])
    await lease.confirm()
    const { epoch } = held
    try {
      if ((await round(held, guard)) === 'ended') return
      failures = 0
    } catch (error) {
      if (!isOutage(error)) throw error
      // What was sent may be committed or not: nothing of it can be committed under the new epoch.
      await readBack(lease, epoch, async () => {})
      // What was sent is sent again.
      await afterOutage(failures++, signal).catch(() => {})
    }
  }
}

/** The next events of a part of the log; null when the event of the place is not in the log any more. */
export async function readBehind(
  db: Database,
  part: LogPart,
  at: Position,
  limit: number,
): Promise<LogPage | null> {
  return readPart(db, part, at, limit).catch((error: { code?: unknown }) => {
    if (error.code === 'CURSOR_EXPIRED') return null
    throw error
  })
}

/** Parts of a statement that has changed something as `g`, without a request: its event and its audit entry. */
export function recordBySystem(
  what: Pick<NewAuditEntry, 'projectId' | 'action' | 'resource' | 'details'>,
  event: ProjectEvent,
): SQL {
  const entry = { ...what, principalId: systemId, outcome: 'EXECUTED' } as const
  return sql`e as (${insertProjectEvents(what.projectId, [event], sql`g`)}),
      a as (${insertEntries([entry])})`
}
