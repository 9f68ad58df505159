/**
 * What retention removes, by kind, and the lock of a project's retention: its row, held under an epoch by whoever
 * sweeps.
 */
import { entity } from '../../core/shapes.ts'
import { jsonb, query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { dataRemovals, retentions } from '../../store/db/tables/retention.ts'
import { LeaseLostError, madeDue, type HeldRow } from '../../store/work/work.ts'
import type { Ctx } from '../access/index.ts'

/** What retention removes, by kind. */
export const removedKinds = [
  'runs',
  'calls',
  'threads',
  'events',
  'files',
  'deliveries',
  'auditEntries',
] as const

/** Counts by kind: runs with their descendants, calls outside runs, threads without runs, events that belong to no run. Absent: none. */
export type RemovedCounts = Partial<Record<(typeof removedKinds)[number], number>>

export const removedCounts = entity<RemovedCounts>()('RemovedCounts')

export function sumOf(...all: readonly RemovedCounts[]): RemovedCounts {
  const sum: RemovedCounts = {}
  for (const one of all)
    for (const kind of removedKinds) if (one[kind]) sum[kind] = (sum[kind] ?? 0) + one[kind]
  return sum
}

export const dayMs = 24 * 60 * 60 * 1000

/** So many days before a time in milliseconds since 1970; null: never. */
export function daysBefore(now: number, days: number | null): Date | null {
  return days === null ? null : new Date(now - days * dayMs)
}

/**
 * Nothing goes before this age, in milliseconds: idempotency keys and daily budgets count so long, and a session of MCP
 * lasts so long.
 */
export const youngestMs = 1 * dayMs

export type RetentionRow = typeof retentions.$inferSelect

/**
 * Locks the row of a sweep, after the rows that it removes: legal holds and settings of its project wait, or were written
 * before and are seen by the next statement. LeaseLostError when another process sweeps.
 */
export async function lockSweep(tx: Database, { id, epoch }: HeldRow): Promise<RetentionRow> {
  const [row] = await selectRows(
    tx,
    retentions,
    sql`where id = ${id} and epoch = ${epoch}::int and wake_at is not null for update`,
  )
  if (!row) throw new LeaseLostError(id)
  return row
}

/** The same for a request, which makes the row when there is none. */
export async function lockRetention(tx: Database, projectId: string): Promise<RetentionRow> {
  await query(
    tx,
    sql`insert into retentions (id, project_id) values (${projectId}, ${projectId}) on conflict (id) do nothing`,
  )
  const [row] = await selectRows(tx, retentions, sql`where id = ${projectId} for update`)
  return row!
}

/** Makes the sweep of a locked row due now. One that is under way ends, and goes on under another epoch. */
export async function makeDue(tx: Database, projectId: string): Promise<void> {
  await query(tx, sql`update retentions set ${madeDue} where id = ${projectId}`)
}

/** Hints after a change: the log has grown, and a sweep is due. */
export function wakeSweep({ pubsub }: Pick<Ctx, 'pubsub'>, projectId: string): void {
  pubsub.publish([
    { kind: 'news', projectId, generationId: null, seq: null },
    { kind: 'work', table: 'retentions' },
  ])
}

/**
 * Counts what the transaction of a sweep removes, also in the request that it serves. `until`: when the newest run of it was
 * created, ISO 8601.
 */
export async function countRemoved(
  tx: Database,
  row: RetentionRow,
  removed: RemovedCounts,
  removalId: string | null,
  until: string | null = null,
): Promise<void> {
  const last = sumOf(row.lastRemoved as RemovedCounts, removed)
  const all = sumOf(row.allRemoved as RemovedCounts, removed)
  await query(
    tx,
    sql`update retentions set
        last_removed = ${jsonb(last)},
        all_removed = ${jsonb(all)},
        removed_until = greatest(removed_until, ${until}::timestamptz)
      where id = ${row.id}`,
  )
  if (removalId === null) return
  const [removal] = await selectRows(tx, dataRemovals, sql`where id = ${removalId}`)
  const ofRequest = sumOf(removal!.removed as RemovedCounts, removed)
  await query(tx, sql`update data_removals set removed = ${jsonb(ofRequest)} where id = ${removalId}`)
}
