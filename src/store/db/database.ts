/** One database type for PGlite and PostgreSQL: the query builder of Drizzle, without schema-bound queries. */
import { setTimeout as pause } from 'node:timers/promises'
import { PgTransaction, type PgDatabase, type PgQueryResultHKT } from 'drizzle-orm/pg-core'
import { writeJson } from '../../core/json.ts'
import { render, sql, type SQL } from './sql.ts'
import { CommitUnknownError, ConnectionLostError, StorageError, sqlState } from './storage-error.ts'

export { sqlState }

/** Runs statements: a connection pool or a transaction. */
export type Database = PgDatabase<PgQueryResultHKT, Record<string, never>>

/**
 * Runs a statement and returns its rows as plain objects. Values are not converted and the drivers differ: select only
 * texts, numbers, booleans and JSON, and cast everything else.
 */
export async function query<Row>(db: Database, statement: SQL): Promise<Row[]> {
  const result: unknown = await db.execute(render(statement))
  return Array.isArray(result) ? result : (result as { rows: Row[] }).rows
}

/** `now()` plus milliseconds, by the clock of the database. */
export function nowPlus(milliseconds: number): SQL {
  return sql`now() + ${milliseconds}::float8 * interval '1 millisecond'`
}

/** The time by the clock of the database, in milliseconds since 1970. One statement. */
export async function timeOf(db: Database): Promise<number> {
  const [row] = await query<{ now: number }>(
    db,
    sql`select (extract(epoch from now()) * 1000)::float8 as now`,
  )
  return row!.now
}

/** Whether a unique index refused the row. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505'
}

/** SQLSTATEs of a deadlock, a serialization failure, and a plan that a migration made invalid during a transaction. */
const retryable = new Set(['40P01', '40001', '0A000', '25P02'])
const maxTries = 3

/**
 * Runs `work` in one transaction: all of it or nothing. Never wait for the network inside: the embedded database has
 * one connection for the whole process. `work` runs again, twice at most, when nothing of it was committed: after a
 * deadlock, a serialization failure, or a connection that was lost before COMMIT. `isOutage` tells of a failure
 * of the database whether it may be repeated; CommitUnknownError when the transaction may have been committed.
 */
export async function atomically<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  // A savepoint cannot be retried by itself: a deadlock ends the whole transaction.
  const most = db instanceof PgTransaction ? 1 : maxTries
  for (let tries = 1; ; tries++) {
    try {
      return await once(db, work)
    } catch (error) {
      if (tries >= most || !isRetryable(error)) throw error
      await pause(tries * tries * 10)
    }
  }
}

async function once<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  let own: { error: unknown } | null = null
  try {
    return await db.transaction(async (tx) => {
      try {
        return await work(tx)
      } catch (error) {
        own = { error }
        throw error
      }
    })
  } catch (error) {
    if (own !== null && (own as { error: unknown }).error === error) throw error
    // BEGIN, COMMIT or ROLLBACK failed: Drizzle passes on whatever the driver throws.
    throw error instanceof StorageError || sqlState(error) !== null
      ? error
      : new StorageError('A transaction could not be started or ended.', error)
  }
}

function isRetryable(error: unknown): boolean {
  if (retryable.has(sqlState(error) ?? '')) return true
  for (let e = error as { cause?: unknown } | undefined; e; e = e.cause as typeof e)
    if (e instanceof ConnectionLostError) return !(e instanceof CommitUnknownError)
  return false
}

/** The value as a jsonb parameter, exactly. Throws for a text that PostgreSQL cannot store: what is read is canonical. */
export function jsonb(value: unknown): SQL {
  return jsonbOfText(writeJson(value) ?? 'null')
}

/** The same of a value that `writeJson` has made a text of. */
export function jsonbOfText(json: string): SQL {
  if (!isCanonical(json)) throw new TypeError('A value with NUL or half a surrogate pair is to be stored.')
  return sql`${json}::text::jsonb`
}

/** Whether a text of `writeJson`, which escapes no whole pair, has no NUL and no lone surrogate in it. */
function isCanonical(json: string): boolean {
  if (!/\\u(?:0000|d[89a-f])/.test(json)) return true
  return [...json.matchAll(/\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/g)].every(([found]) => found === '\\\\')
}
