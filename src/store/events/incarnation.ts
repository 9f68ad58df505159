/**
 * The identity of the log. A restore or a failover may lose the newest events and assign their ids again: a log that
 * was opened in another database cluster or on another timeline is another incarnation, whose positions are above all
 * that the previous one can have assigned.
 */
import { randomBytes } from 'node:crypto'
import { atomically, query, type Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { newestPositionOfAll } from './newest.ts'

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
    const rows = await query<{ incarnation: string | null; fingerprint: string | null }>(
      tx,
      sql`select incarnation, fingerprint from installation for update`,
    )
    const { incarnation, fingerprint: before } = rows[0]!
    if (incarnation === null) {
      await numberOldEvents(tx)
      await setIncarnation(tx, fingerprint)
    } else if (fingerprint !== null && before !== null && fingerprint !== before)
      await beginIncarnation(tx, fingerprint)
    else if (fingerprint !== null && before === null)
      await query(tx, sql`update installation set fingerprint = ${fingerprint}::text`)
  })
}

/**
 * Begins another incarnation: after a restore, before any server writes. Cursors whose event is still there and the
 * same stay valid. Not idempotent: each call leaves a gap above the newest position.
 */
export async function beginIncarnation(tx: Database, fingerprint: string | null = null): Promise<void> {
  await query(
    tx,
    sql`update installation
      set position_floor = ${leap}::bigint
        + greatest(position_floor, ${newestPositionOfAll})`,
  )
  await setIncarnation(tx, fingerprint)
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

/** The cluster and its timeline, null where this role may not read them. */
async function fingerprintOf(db: Database): Promise<string | null> {
  const rows = await query<{ at: string }>(
    db,
    sql`select (select system_identifier from pg_control_system())::text || '/' ||
      (select timeline_id from pg_control_checkpoint())::text as at`,
  ).catch(() => [])
  return rows[0]?.at ?? null
}
