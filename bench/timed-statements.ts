/** Measures the statements that a piece of work sends in this process. */
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { Database } from '../src/store/db/database.ts'
import { oneLine } from '../test/support/one-line.ts'

export interface StatementTimes {
  count: number
  longestMs: number
  /** The text of the longest one, in one line. */
  longest: string
}

const dialect = new PgDialect()

/** The same database, whose statements are noted in `times`, also those of transactions. */
export function timed(db: Database, times: StatementTimes): Database {
  const execute = async (statement: SQL) => {
    const start = performance.now()
    try {
      return await db.execute(statement)
    } finally {
      const took = performance.now() - start
      times.count++
      if (took > times.longestMs)
        Object.assign(times, { longestMs: took, longest: oneLine(dialect.sqlToQuery(statement).sql) })
    }
  }
  const transaction = (work: (tx: Database) => Promise<unknown>) =>
    db.transaction((tx) => work(timed(tx as unknown as Database, times)))
  return new Proxy(db, {
    get: (target, name) =>
      name === 'execute' ? execute : name === 'transaction' ? transaction : Reflect.get(target, name, target),
  })
}
