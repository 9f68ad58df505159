/** One type for both databases: the query builder of Drizzle, without schema-bound queries. */
import { setTimeout as pause } from 'node:timers/promises'
import { PgTransaction, type PgDatabase, type PgQueryResultHKT } from 'drizzle-orm/pg-core'
import { sql, type SQL } from 'drizzle-orm'
import { CommitUnknownError, ConnectionLostError, StorageError, isStorageError } from './storage-error.ts'

/** A handle that runs statements: a connection pool or a transaction of it. */
export type Database = PgDatabase<PgQueryResultHKT, Record<string, never>>

/**
 * Runs a statement and gives its rows as plain objects, the same for both drivers.
 * Values come as the driver gives them: select only texts, numbers, booleans and JSON, and cast the rest.
 */
export async function query<Row>(db: Database, statement: SQL): Promise<Row[]> {
  const result: unknown = await db.execute(statement)
  return Array.isArray(result) ? result : (result as { rows: Row[] }).rows
}

/** `now()` moved by milliseconds, by the database's own clock. */
export function nowPlus(milliseconds: number): SQL {
  return sql`now() + ${milliseconds}::float8 * interval '1 millisecond'`
}

/** The first character of the SQLSTATE class and all of it, for errors of either driver, else null. */
export function sqlState(error: unknown): string | null {
  for (let e = error as { code?: unknown; cause?: unknown } | undefined; e; e = e.cause as typeof e)
    if (typeof e.code === 'string' && /^[0-9A-Z]{5}$/.test(e.code)) return e.code
  return null
}

/** A unique index refused the row. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505'
}

/** Deadlock, serialization failure, and a plan that a migration has made invalid in the middle of a transaction. */
const worthAnotherTry = new Set(['40P01', '40001', '0A000', '25P02'])
const maxTries = 3

/**
 * Runs `work` in one transaction: all of it or nothing. Never wait for the network inside; on the embedded database
 * there is one connection for everybody. `work` runs again, twice at most, when surely nothing of it took place: after a
 * deadlock, a serialization failure, or a connection that ended before COMMIT. Every failure of the database itself is a
 * StorageError or DrizzleQueryError; CommitUnknownError when the transaction may have taken place.
 */
export async function atomically<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  // A part of a transaction cannot be tried again: it is over with the whole.
  const most = db instanceof PgTransaction ? 1 : maxTries
  for (let tries = 1; ; tries++) {
    try {
      return await once(db, work)
    } catch (error) {
      if (tries >= most || !isWorthAnotherTry(error)) throw error
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
    // BEGIN, COMMIT or ROLLBACK failed: Drizzle hands over whatever the driver throws there.
    throw isStorageError(error)
      ? error
      : new StorageError('A transaction could not be begun or ended.', error)
  }
}

function isWorthAnotherTry(error: unknown): boolean {
  if (worthAnotherTry.has(sqlState(error) ?? '')) return true
  for (let e = error as { cause?: unknown } | undefined; e; e = e.cause as typeof e)
    if (e instanceof ConnectionLostError) return !(e instanceof CommitUnknownError)
  return false
}

/**
 * The value as a jsonb parameter. What PostgreSQL cannot hold (NUL and half surrogate pairs, which models and tools do
 * send) becomes U+FFFD, so that no answer of a stranger can make a commit fail.
 */
export function jsonb(value: unknown): SQL {
  const text = (JSON.stringify(value) ?? 'null').replace(/\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/g, (found) =>
    found === '\\\\' ? found : '\\ufffd',
  )
  return sql`${text}::text::jsonb`
}
