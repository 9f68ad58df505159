/**
 * The identity of the log. A restore or a failover may lose the newest events and assign their ids again: a log that
 * was opened in another database cluster or on another timeline is another incarnation, whose positions are above all
 * that the previous one can have assigned. No statement of ours is sent on a timeline before that: every connection
 * compares it first.
 */
import { randomBytes } from 'node:crypto'
import { atomically, query, sqlState, type Database } from './database.ts'
import { sql } from './sql.ts'
import { endEveryLease } from './end-leases.ts'
import { newestPositionOfAll } from './newest-position.ts'

/** More positions than any log assigns between a backup and its loss. */
const leap = 2 ** 32

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
        position_floor = ${leap}::bigint + greatest(position_floor, ${newestPositionOfAll})`,
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
