/** A database that was opened: its address, its health and its clock. */
import { atomically, query, sqlState, type Database, timeOf } from './database.ts'
import { sql } from './sql.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Session } from './postgres/session.ts'
import type { Clock } from '../../core/time.ts'

/** What has no answer yet. */
export interface PendingWork {
  /** The age of the oldest write, COMMIT included, in milliseconds; also of one whose connection was given up. */
  oldestWriteMs: number
  /** Connections that were given up and whose statement still waits in the server. */
  abandoned: number
  /** Statements and transactions that wait for a free connection. */
  queued: number
}

export interface DatabaseHealth {
  waiting(): PendingWork
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

export interface Connection {
  db: Database
  /**
   * The same database over a pool of its own, for heartbeats, claims, outcomes and the readiness probe, which must not
   * wait while `db` is busy. On PGlite it is `db`.
   */
  leaseDb: Database
  kind: 'pglite' | 'postgres'
  /** The schema of the tables. */
  schema: string
  /** The statements sent so far, on PGlite, to which no other process writes; null on PostgreSQL. */
  statementCount: (() => number) | null
  /** Opens a connection outside the pools, past a pooler if the address says how, for migrations; null on PGlite. */
  openSession: (() => Promise<Session>) | null
  /** Opens one of the address that the pools use; null on PGlite. */
  openPooled: (() => Promise<Session>) | null
  /** Sets what answers other processes of this machine that may write the directory; null where there is none. */
  answerProcesses: ((answer: (request: JsonObject) => Promise<object>) => void) | null
  health: DatabaseHealth
  close(): Promise<void>
}

export type DatabaseAddress =
  /** `directUrl`: the same database without a pooler. Default: `url`. `schema`: of the tables. Default: public. */
  | { kind: 'postgres'; url: string; directUrl?: string; schema?: string; poolSize: number }
  | { kind: 'pglite'; directory: string }
  /** In memory, from a dump of a migrated database when there is one. */
  | { kind: 'memory'; dump?: Blob }

const everyMs = 10_000

/** The clock of the database, read at times, so that all replicas have one: that of a process may be wrong. */
export interface DatabaseClock extends Clock {
  /** Stops reading. */
  close(): void
}

/**
 * The time of the database, a few milliseconds off. Between two reads it goes on with the monotonic clock, whatever happens to
 * the clock of this process; while the database does not answer, too. Throws when it cannot be read at first.
 */
export async function followClock(db: Database): Promise<DatabaseClock> {
  /** What the database's clock is ahead of the monotonic one, in milliseconds. */
  let offset: number | null = null
  const read = async () => {
    const sent = performance.now()
    const time = await timeOf(db)
    const [least, most] = [time - performance.now(), time - sent]
    // A slow answer says little: what is possible still holds.
    offset = offset === null ? (least + most) / 2 : Math.min(Math.max(offset, least), most)
  }
  await read()
  let reading: Promise<void> | null = null
  const timer = setInterval(() => {
    reading ??= read()
      .catch(() => {})
      .finally(() => (reading = null))
  }, everyMs).unref()
  return {
    now: () => Math.round(performance.now() + offset!),
    close: () => clearInterval(timer),
  }
}
