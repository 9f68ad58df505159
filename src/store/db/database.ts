/** One type for both databases: the query builder of Drizzle, without schema-bound queries. */
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core'
import { sql, type SQL } from 'drizzle-orm'

/** A handle that runs statements: a connection pool or a transaction of it. */
export type Database = PgDatabase<PgQueryResultHKT, Record<string, never>>

/**
 * Runs a statement and gives its rows as plain objects, the same for both drivers.
 * Values come as the driver gives them: select only texts, numbers, booleans and JSON, and cast the rest.
 */
export async function query<Row>(db: Database, statement: SQL): Promise<Row[]> {
  const result = (await db.execute(statement)) as unknown as Row[] | { rows: Row[] }
  return Array.isArray(result) ? result : result.rows
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

/**
 * Runs `work` in one transaction: all of it or nothing. Never wait for the network inside; on the embedded database
 * there is one connection for everybody. A deadlock or serialization failure is tried again, twice.
 */
export async function atomically<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction((tx) => work(tx as unknown as Database))
    } catch (error) {
      const state = sqlState(error)
      if (tries >= 3 || (state !== '40P01' && state !== '40001')) throw error
    }
  }
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
