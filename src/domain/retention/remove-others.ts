/**
 * Removes what belongs to no run, a batch at a time, each in one transaction: calls, threads, events, deliveries, files, audit
 * entries.
 */
import { atomically, jsonb, query, type Database } from '../../store/db/database.ts'
import { isHeld, isHeldDelivery, isHeldEntry, isHeldEvent } from '../../store/db/held.ts'
import { newestPositionOfAll } from '../../store/db/incarnation.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { rowsOf } from '../../store/db/rows.ts'
import { moveFeedStart, type RemovedPlace } from '../../store/events/position.ts'
import type { HeldRow } from '../../store/work/work.ts'
import { passFollowers } from '../followers/index.ts'
import { deleteCalls, hasNoOutcome } from '../tool-calls/index.ts'
import { type RemovedCounts, countRemoved, lockSweep } from './lease.ts'
import { goneParts, goneWithEvents } from './parts.ts'
import { deleteFiles, isLeft, isUnused } from './remove-files.ts'
import { patienceMs } from './remove-runs.ts'

/** What of a project goes. */
export interface Old {
  projectId: string
  before: Date
  /** The request that is served; null: the retention of the project. */
  removalId: string | null
}

/** The most rows of a batch. */
export const batchSize = 1000

/** Removes one batch. Returns how many rows it has removed; fewer than `batchSize`: nothing more is due. */
export type RemoveBatch = (db: Database, held: HeldRow, old: Old) => Promise<number>

const at = ({ before }: Old) => sql`${before.toISOString()}::timestamptz`

/**
 * Calls outside runs with an outcome that is not UNKNOWN. One that was UNKNOWN is as old as its resolution: its idempotency key
 * counts from then on, and so long it must not run again. `requester`: only those of one.
 */
export function callsThatMayGo({ projectId, before }: Old, requester: string | null): SQL {
  return sql`c.project_id = ${projectId} and c.generation_id is null
    and c.settled_at < ${before.toISOString()}::timestamptz
    and c.status <> 'UNKNOWN' and not ${hasNoOutcome('c')} and coalesce(c.resolved_at < ${before.toISOString()}::timestamptz, true)
    and not ${isHeld(sql`c.project_id`, sql`c.requested_by`)}
    ${requester === null ? sql`` : sql`and c.requested_by = ${requester}`}`
}

/** Calls outside runs, with their approvals. Their events are facts of the feed and go with it. */
export const removeCalls =
  (requester: string | null): RemoveBatch =>
  (db, held, old) =>
    atomically(db, async (tx) => {
      const found = await query<{ id: string; files: string[] }>(
        tx,
        sql`select c.id, jsonb_path_query_array(coalesce(c.attachments, '[]'), '$.**.fileId') as files
          from tool_calls as c
          where ${callsThatMayGo(old, requester)}
          order by c.settled_at, c.id
          limit ${batchSize}
          for update of c skip locked`,
      )
      if (found.length === 0) return 0
      const sweep = await lockSweep(tx, held)
      const ids = found.map(({ id }) => id)
      // Judged again: a hold may have been put before the lock.
      const gone = await query<{ id: string }>(
        tx,
        deleteCalls(sql`t.id in (
          select c.id from tool_calls as c where c.id in ${ids} and ${callsThatMayGo(old, requester)}
        )`),
      )
      if (gone.length === 0) return 0
      const calls = sql`${gone.map(({ id }) => id)}`
      const parts = goneParts('call', {
        projectId: old.projectId,
        ids: sql`select x.id from ${rowsOf(jsonb(gone), gone.length, 'x(id text)')}`,
        deleteRows: ({ name }, by) => sql`delete from ${sql.raw(name)} where ${sql.raw(by)} in ${calls}`,
      })
      await query(tx, sql`with ${parts} select 1`)
      const left = new Set(gone.map(({ id }) => id))
      const named = found.flatMap(({ id, files }) => (left.has(id) ? files : []))
      const files = await deleteFiles(tx, old.projectId, [...new Set(named)], old.removalId !== null)
      await countRemoved(tx, sweep, { calls: gone.length, files }, old.removalId)
      return gone.length
    })

/** Threads without runs that no hold keeps. `creator`: only those of one. */
function emptyThreads({ projectId }: Old, creator: string | null): SQL {
  return sql`t.project_id = ${projectId}
    and not exists (select 1 from generations as g where g.thread_id = t.id)
    and not ${isHeld(sql`t.project_id`, sql`t.created_by`)}
    ${creator === null ? sql`` : sql`and t.created_by = ${creator}`}`
}

/** Threads that never had a run, or have none any more. Those of runs go with the last of them. */
export const removeThreads =
  (creator: string | null): RemoveBatch =>
  (db, held, old) =>
    atomically(db, async (tx) => {
      const which = sql`${emptyThreads(old, creator)} and t.created_at < ${at(old)}`
      const found = await query<{ id: string }>(
        tx,
        sql`select t.id
          from threads as t
          where ${which}
          order by t.created_at, t.id
          limit ${batchSize}
          for update of t skip locked`,
      )
      if (found.length === 0) return 0
      const sweep = await lockSweep(tx, held)
      // Judged again: a run may have continued the thread, or a hold been put, before the locks.
      const gone = await query<{ files: string[] }>(
        tx,
        sql`delete from threads as t
          where t.id in ${found.map(({ id }) => id)} and ${which}
          returning jsonb_path_query_array(coalesce(t.messages, '[]'), '$.**.fileId') as files`,
      )
      if (gone.length === 0) return 0
      const named = [...new Set(gone.flatMap(({ files }) => files))]
      const files = await deleteFiles(tx, old.projectId, named, old.removalId !== null)
      await countRemoved(tx, sweep, { threads: gone.length, files }, old.removalId)
      return gone.length
    })

/**
 * Events that belong to no run. Moves the start of the feed past them; those of runs stay in the logs of these, and those that a
 * hold keeps stay as rows until it is lifted.
 */
export const removeEvents: RemoveBatch = (db, held, old) =>
  atomically(db, async (tx) => {
    const sweep = await lockSweep(tx, held)
    const found = await query<RemovedPlace>(
      tx,
      sql`select id::float8 as id, commit_order::float8 as "commitOrder", position::float8 as position,
          (extract(epoch from created_at) * 1000)::float8 as "createdMs"
        from events as e
        where e.project_id = ${old.projectId} and e.generation_id is null and e.position < ${newestPositionOfAll}
          and not ${isHeldEvent}
        order by e.position
        limit ${batchSize}`,
    )
    const until = found.findIndex(({ createdMs }) => createdMs! >= old.before.getTime())
    const due = until < 0 ? found : found.slice(0, until)
    const newest = due.at(-1)
    if (!newest) return 0
    const givesUp = newest.createdMs! < old.before.getTime() - patienceMs
    const part = { projectId: old.projectId, newest, generationIds: [] }
    if (!(await passFollowers(tx, part, givesUp))) return 0
    await moveFeedStart(tx, old.projectId, newest)
    const gone = sql`gone_events as (delete from events where id in ${due.map(({ id }) => id)} returning id)`
    const parts = sql.join([gone, ...goneWithEvents(old.projectId, sql`gone_events`)], sql`, `)
    await query(tx, sql`with ${parts} select 1`)
    await countRemoved(tx, sweep, { events: due.length }, old.removalId)
    return due.length
  })

/** Rows of one table that no other row depends on. */
function simple(
  kind: keyof RemovedCounts,
  table: 'webhook_deliveries' | 'audit_entries',
  condition: (old: Old) => SQL,
): RemoveBatch {
  const name = sql.raw(table)
  return (db, held, old) =>
    atomically(db, async (tx) => {
      const sweep = await lockSweep(tx, held)
      const gone = await query(
        tx,
        sql`delete from ${name}
          where id in (
            select x.id
            from ${name} as x
            where x.project_id = ${old.projectId} and x.created_at < ${at(old)} and ${condition(old)}
            order by x.created_at, x.id
            limit ${batchSize}
          )
          returning id`,
      )
      if (gone.length > 0) await countRemoved(tx, sweep, { [kind]: gone.length }, old.removalId)
      return gone.length
    })
}

const deliveryIsOld = (old: Old) =>
  sql`x.status <> 'PENDING' and x.updated_at < ${at(old)} and not ${isHeldDelivery}`
const entryIsOld = () => sql`not ${isHeldEntry}`

/** Deliveries that are settled. */
export const removeDeliveries = simple('deliveries', 'webhook_deliveries', deliveryIsOld)
export const removeAuditEntries = simple('auditEntries', 'audit_entries', entryIsOld)

/** Files that nothing names. `creator`: only those of one. */
export const removeFiles =
  (creator: string | null): RemoveBatch =>
  (db, held, old) =>
    atomically(db, async (tx) => {
      const sweep = await lockSweep(tx, held)
      const found = await query<{ id: string }>(
        tx,
        sql`select f.id
          from files as f
          where f.project_id = ${old.projectId} and f.created_at < ${at(old)} and ${isUnused}
            ${creator === null ? sql`` : sql`and f.created_by = ${creator}`}
          order by f.created_at, f.id
          limit ${batchSize}`,
      )
      const ids = found.map(({ id }) => id)
      const gone = await deleteFiles(tx, old.projectId, ids, old.removalId !== null)
      if (gone > 0) await countRemoved(tx, sweep, { files: gone }, old.removalId)
      return gone
    })

/** Whether a call outside runs, a thread without runs, or a file, of the requester is too young to go, and nothing else keeps it. */
export async function hasYoung(db: Database, old: Old, requester: string): Promise<boolean> {
  const rows = await query(
    db,
    sql`select 1
      where exists (
          select 1
          from tool_calls as c
          where c.project_id = ${old.projectId} and c.requested_by = ${requester} and c.generation_id is null
            and c.status <> 'UNKNOWN' and not ${hasNoOutcome('c')} and not ${isHeld(sql`c.project_id`, sql`c.requested_by`)}
            and (c.settled_at >= ${at(old)} or c.resolved_at >= ${at(old)})
        ) or exists (
          select 1
          from threads as t
          where ${emptyThreads(old, requester)} and t.created_at >= ${at(old)}
        ) or exists (
          select 1
          from files as f
          where f.project_id = ${old.projectId} and f.created_by = ${requester} and ${isLeft}
            and (f.created_at >= ${at(old)} or not (${isUnused}))
        )`,
  )
  return rows.length > 0
}

/** How many rows of each kind would go now, each counted up to `most`. */
export async function countOthers(
  db: Database,
  projectId: string,
  before: Record<'runs' | 'events' | 'files' | 'deliveries' | 'audit', Date | null>,
  most: number,
): Promise<RemovedCounts> {
  const count = async (when: Date | null, rows: (old: Old) => SQL) => {
    if (!when) return 0
    const [found] = await query<{ n: number }>(
      db,
      sql`select count(*)::int as n from (${rows({ projectId, before: when, removalId: null })} limit ${most}) as counted`,
    )
    return found!.n
  }
  const table = (name: string, condition: (old: Old) => SQL) => (old: Old) =>
    sql`select 1 from ${sql.raw(name)} as x
      where x.project_id = ${projectId} and x.created_at < ${at(old)} and ${condition(old)}`
  return {
    calls: await count(
      before.runs,
      (old) => sql`select 1 from tool_calls as c where ${callsThatMayGo(old, null)}`,
    ),
    threads: await count(
      before.runs,
      (old) => sql`select 1 from threads as t where ${emptyThreads(old, null)} and t.created_at < ${at(old)}`,
    ),
    events: await count(
      before.events,
      (old) => sql`select 1 from events as e
        where e.project_id = ${projectId} and e.generation_id is null and e.position < ${newestPositionOfAll}
          and e.created_at < ${at(old)} and not ${isHeldEvent}`,
    ),
    files: await count(
      before.files,
      (old) => sql`select 1 from files as f
        where f.project_id = ${projectId} and f.created_at < ${at(old)} and ${isUnused}`,
    ),
    deliveries: await count(before.deliveries, table('webhook_deliveries', deliveryIsOld)),
    auditEntries: await count(before.audit, table('audit_entries', entryIsOld)),
  }
}
