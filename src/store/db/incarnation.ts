/**
 * The identity of the log. A restore or a failover may lose the newest events and assign their ids again: then another
 * incarnation begins beyond the newest position, and every lease ends.
 */
import { query, type Database, atomically, sqlState } from './database.ts'
import { sql, type SQL } from './sql.ts'
import type { WorkTable } from './tables/columns.ts'
import { randomBytes } from 'node:crypto'

/**
 * Added to every epoch. Epochs that were given out in a lost future are above those of the rows, and must not be given
 * out again: no row was claimed so often in what was lost.
 */
const epochLeap = 2 ** 16

/** The rows that can be claimed again, and when a process works on one. */
const workRows: Record<WorkTable, { open: string; held: string }> = {
  generations: { open: 'finished_at is null', held: `status = 'RUNNING'` },
  // A call inside a generation is held with it, unless a person lets it run again: then it is settled and yet runs.
  tool_calls: {
    open: `(settled_at is null or status in ('PROPOSED', 'EXECUTING'))`,
    held: `status = 'EXECUTING' and (generation_id is null or settled_at is not null)`,
  },
  upstreams: { open: 'true', held: 'false' },
  webhook_cursors: { open: 'true', held: `status = 'WORKING'` },
  slack_integrations: { open: 'true', held: `status = 'WORKING'` },
  // A tick that was taken lies in the past: it is due.
  triggers: { open: 'wake_at is not null', held: 'next_at <= now()' },
  retentions: { open: 'wake_at is not null', held: `status = 'SWEEPING'` },
}

/**
 * In the caller's transaction: no process may write a row that it held before, also when it claimed it in a future that
 * was lost, and what was in work is due now. Calls whose outcome nobody wrote are repeated or become UNKNOWN, as after
 * any worker that was lost. Has no time limit.
 */
export async function endEveryLease(tx: Database): Promise<void> {
  await query(tx, sql`set local statement_timeout = 0`)
  for (const [table, { open, held }] of Object.entries(workRows))
    await query(
      tx,
      sql.raw(`update ${table} set
          epoch = epoch + ${epochLeap},
          wake_at = case when ${held} then now() else wake_at end
        where ${open}`),
    )
}

/**
 * A subquery; 0 while no event has a position. Reads the end of the index `events_position`, which is on this expression, also
 * where statistics speak of one row: the condition on another column keeps the planner from reading all of an index that has
 * the position without its table.
 */
export const newestPositionOfAll = sql`coalesce((
    select e.position
    from events as e
    where e.position is not null and e.created_at > '-infinity'
    order by e.position + 0 desc
    limit 1
  ), 0)`

/** The newest position in the feed of a project, as an expression; 0 when it has none. Reads the end of an index. */
export function newestPositionOf(projectId: SQL): SQL {
  return sql`coalesce((
    select e.position
    from events as e
    where e.project_id = ${projectId} and e.position is not null
    order by e.position desc
    limit 1
  ), 0)`
}

/**
 * A reader with a filter passes over events that it does not want when this many positions lie behind the newest event,
 * so that the search for the next one that is wanted stays short. Until then its row is not written for them.
 */
export const mostPassed = 5000

/** More positions than any log assigns between a backup and its loss. */
const positionLeap = 2 ** 32

/**
 * Prepares the log at the start of a process, under the lock of the migrations: numbers what an earlier release
 * wrote, in the order in which it delivered it, and begins another incarnation when the cluster or its timeline has
 * changed. Idempotent.
 */
export async function openLog(db: Database): Promise<void> {
  const fingerprint = await fingerprintOf(db)
  await atomically(db, async (tx) => {
    const { incarnation } = await lockInstallation(tx)
    if (incarnation !== null) return
    await numberOldEvents(tx)
    await setIncarnation(tx, fingerprint)
  })
  await adoptHistory(db)
}

/** What a connection leads to. */
export interface History {
  /** The names of the log's incarnations, newest last; no restore changes the first. Empty before there is one. */
  incarnations: string[]
  /**
   * Whether the log was opened in its cluster and on its timeline. Also true before the first migration, and where the role
   * may not read the timeline.
   */
  isKnown: boolean
}

export async function readHistory(db: Database): Promise<History> {
  const stored = await storedHistory(db)
  if (!stored) return { incarnations: [], isKnown: true }
  const fingerprint = await fingerprintOf(db)
  const isKnown = fingerprint === null || stored.fingerprint === fingerprint
  return { incarnations: stored.incarnations, isKnown }
}

/**
 * Makes the cluster and timeline of this connection those of the log. After a failover or restore, which may have lost
 * what was written last, one process begins another incarnation and ends all leases; others wait for it. Returns
 * whether this one did.
 */
export async function adoptHistory(db: Database): Promise<boolean> {
  const fingerprint = await fingerprintOf(db)
  return atomically(db, async (tx) => {
    const { incarnation, fingerprint: before } = await lockInstallation(tx)
    if (fingerprint === null || incarnation === null || before === fingerprint) return false
    if (before !== null) {
      await beginIncarnation(tx)
      await endEveryLease(tx)
    }
    await query(tx, sql`update installation set fingerprint = ${fingerprint}::text`)
    return before !== null
  })
}

async function lockInstallation(tx: Database) {
  const rows = await query<{ incarnation: string | null; fingerprint: string | null }>(
    tx,
    sql`select incarnation, fingerprint from installation for update`,
  )
  return rows[0]!
}

/** Undefined before the first migration. */
async function storedHistory(db: Database) {
  return query<{ fingerprint: string | null; incarnations: string[] }>(
    db,
    sql`select fingerprint, jsonb_path_query_array(earlier, '$[*].name') ||
      case when incarnation is null then '[]' else jsonb_build_array(incarnation) end as incarnations from installation`,
  ).then(
    (rows) => rows[0],
    (error: unknown) => {
      // No such table or column.
      if (/^42(P01|703)$/.test(sqlState(error) ?? '')) return undefined
      throw error
    },
  )
}

/**
 * Begins another incarnation: after a restore, before any server writes. Cursors whose event is still there and the
 * same stay valid. Not idempotent: each call leaves a gap above the newest position.
 */
export async function beginIncarnation(tx: Database): Promise<void> {
  // What the previous incarnation had committed belongs to it, also when its position was lost. The function of the first
  // release that has one: this may run before the migrations of this release.
  await query(tx, sql`select number_waiting_events(true, 2147483647)`)
  await query(
    tx,
    sql`update installation set
        earlier = earlier || jsonb_build_object('name', incarnation, 'newest', ${newestPositionOfAll}),
        position_floor = ${positionLeap}::bigint + greatest(position_floor, ${newestPositionOfAll})`,
  )
  await setIncarnation(tx, null)
}

async function setIncarnation(tx: Database, fingerprint: string | null): Promise<void> {
  const name = randomBytes(9).toString('base64url')
  await query(
    tx,
    sql`update installation
      set incarnation = ${name}::text, fingerprint = coalesce(${fingerprint}::text, fingerprint)`,
  )
}

/**
 * Uses the order in which the previous release delivered them, so that its cursors keep their meaning. Has no time
 * limit.
 */
async function numberOldEvents(tx: Database): Promise<void> {
  await query(tx, sql`set local statement_timeout = 0`)
  await query(
    tx,
    sql`update events as e set position = o.n
      from (
        select id, row_number() over (order by commit_order, id) as n
        from events
        where position is null
      ) as o
      where e.id = o.id`,
  )
}

/** SQLSTATEs of services that are no plain PostgreSQL, or refuse these functions. */
const unreadable = new Set(['42501', '42883', '0A000', '55000'])

/**
 * The cluster and its timeline, null where this role may not read them. The name of the current WAL file has the
 * timeline from the moment of a promotion on, the control file only after its next checkpoint.
 */
async function fingerprintOf(db: Database): Promise<string | null> {
  const rows = await query<{ at: string }>(
    db,
    sql`select (select system_identifier from pg_control_system())::text || '/' ||
      ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int::text as at`,
  ).catch((error: unknown) => {
    if (unreadable.has(sqlState(error) ?? '')) return []
    throw error
  })
  return rows[0]?.at ?? null
}
