/** The client that Drizzle uses for PGlite: what it sends again and again is prepared once. */
import type { PGlite, QueryOptions, Results, Transaction } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/pglite'
import type { Database } from '../database.ts'
import { preparedStatements, type Statements } from './statements.ts'

type Query = (text: string, values?: unknown[], options?: QueryOptions) => Promise<Results<object>>

/** The part of a PGlite that Drizzle uses. */
interface Client {
  query: Query
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A longer statement is hardly sent twice: it has a list of values of its own. */
const longestPrepared = 32_768
/** What has a plan. Everything else, such as the statements of a migration, goes the way of PGlite. */
const planned = /^[\s(]*(select|with|insert|update|delete)\b/i

/** The query builder over an embedded database. `onStatement` is called before each statement. */
export function databaseOverPglite(client: PGlite, onStatement: () => void): Database {
  // drizzle-orm wants all of a PGlite; its session uses what Client has.
  return drizzle(clientOver(client) as unknown as PGlite, { logger: { logQuery: onStatement } })
}

function clientOver(client: PGlite): Client {
  const statements = preparedStatements(client)
  return {
    query: preparing(statements, {
      otherwise: (...statement) => client.query(...statement),
      check: () => client._checkReady(),
      exclusively: (run) => client._runExclusiveTransaction(() => client._runExclusiveQuery(run)),
      open: false,
    }),
    transaction: (work) =>
      client.transaction((tx) => {
        const query = preparing(statements, {
          otherwise: tx.query,
          check: async () => {
            if (tx.closed) throw new Error('Transaction is closed')
          },
          exclusively: (run) => client._runExclusiveQuery(run),
          open: true,
        })
        return work(Object.assign(tx, { query }) as Transaction)
      }),
    close: () => client.close(),
  }
}

/** Where statements run: on the client, or in a transaction. */
interface Place {
  /** Runs what is not prepared. */
  otherwise: Query
  /** Throws when no statement can run. */
  check(): Promise<void>
  /** Takes the locks that PGlite takes for a statement of its own. */
  exclusively<T>(run: () => Promise<T>): Promise<T>
  /** Whether a transaction is open. */
  open: boolean
}

function preparing(statements: Statements, { otherwise, check, exclusively, open }: Place): Query {
  return async (text, values = [], options = {}) => {
    if (text.length > longestPrepared || !planned.test(text)) return otherwise(text, values, options)
    await check()
    return exclusively(() => statements.run(text, values, options, open))
  }
}
