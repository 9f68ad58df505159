/** What a test does around the single statements of a server in its own process. */
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { Database } from '../../src/store/db/database.ts'
import { sharingCommits } from '../../src/store/db/fast-statements.ts'
import { oneLine } from './one-line.ts'

export interface Sent {
  /** In one line. */
  text: string
  params: unknown[]
  /** Sends it. */
  execute(): Promise<unknown>
}

const dialect = new PgDialect()

/**
 * Runs `act` instead of each single statement, also of those that share a commit with others, until the returned function is
 * called. Statements in transactions are not seen.
 */
export function aroundStatements(db: Database, act: (sent: Sent) => Promise<unknown>): () => void {
  const undo = [...new Set([db, sharingCommits(db)])].map((one) => {
    const before = one.execute
    const execute = one.execute.bind(one) as unknown as (statement: SQL) => Promise<unknown>
    one.execute = ((statement: SQL) => {
      const { sql: text, params } = dialect.sqlToQuery(statement)
      return act({ text: oneLine(text), params, execute: () => execute(statement) })
    }) as unknown as Database['execute']
    return () => void (one.execute = before)
  })
  return () => undo.forEach((restore) => restore())
}
