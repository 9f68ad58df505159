/** The statements that a server in this process sends, to show that a list is not read entry by entry. */
import type { Database } from '../../src/store/db/database.ts'

/** Runs `work` and returns the texts of the statements that this database was sent meanwhile, those of workers too. */
export async function statementsDuring(db: Database, work: () => Promise<unknown>): Promise<string[]> {
  const session = (db as unknown as { session: { prepareQuery: (...args: unknown[]) => unknown } }).session
  const prepare = session.prepareQuery
  const seen: string[] = []
  session.prepareQuery = function (this: unknown, ...args: unknown[]) {
    seen.push((args[0] as { sql: string }).sql)
    return prepare.apply(this, args)
  }
  try {
    await work()
    return seen
  } finally {
    session.prepareQuery = prepare
  }
}
