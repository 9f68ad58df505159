/** Whether this process can write to its database, and what waits for an answer. */
import { atomically, query, sqlState, type Database } from './database.ts'
import { sql } from './sql.ts'

/** What has no answer yet. */
export interface Waiting {
  /** The age of the oldest write, COMMIT included, in milliseconds; also of one whose connection was given up. */
  oldestWriteMs: number
  /** Connections that were given up and whose statement still waits in the server. */
  abandoned: number
  /** Statements and transactions that wait for a free connection. */
  queued: number
}

export interface DatabaseHealth {
  waiting(): Waiting
  /**
   * Whether the database answers and is not read-only, and had space for the newest write that needed some. It writes
   * only after a write has failed for lack of space: a COMMIT that hangs must not make all replicas unready.
   */
  canWrite(): Promise<boolean>
}

/** Of the embedded database, which answers as long as the process does. */
export function embeddedHealth(db: Database): DatabaseHealth {
  return { waiting: () => ({ oldestWriteMs: 0, abandoned: 0, queued: 0 }), canWrite: () => isPrimary(db) }
}

/** Remembers that the disk was full until a write succeeds that needs space. */
export function watchSpace(db: Database) {
  let isFull = false
  let probing: Promise<void> | null = null
  let probedAt = -Infinity
  const probe = async () => {
    if (performance.now() - probedAt < probeEveryMs) return
    await needSpace(db).then(
      () => (isFull = false),
      () => {},
    )
    probedAt = performance.now()
  }
  return {
    failed: () => void (isFull = true),
    async isThere(): Promise<boolean> {
      if (isFull) await (probing ??= probe().finally(() => (probing = null)))
      return !isFull
    },
  }
}

/** Milliseconds. */
const probeEveryMs = 1000
const undo = new Error('Nothing of a probe is kept.')

/** Extends a table by some pages, and rolls back. Throws when it cannot. */
async function needSpace(db: Database): Promise<void> {
  await atomically(db, async (tx) => {
    await query(
      tx,
      sql`insert into idempotency_keys (project_id, principal_id, operation, key, request_hash, result_id, expires_at)
        select 'none', 'none', 'probe', gen_random_uuid()::text, '', repeat('x', 1500), now()
        from generate_series(1, 50)`,
    )
    throw undo
  }).catch((error: unknown) => {
    if (error !== undo) throw error
  })
}

export async function isPrimary(db: Database): Promise<boolean> {
  const rows = await query<{ may: boolean }>(
    db,
    sql`select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as may from installation`,
  )
  return rows[0]?.may === true
}

/** Whether a failure of a statement says that the disk is full. */
export const saysDiskFull = (error: unknown): boolean => sqlState(error) === '53100'
