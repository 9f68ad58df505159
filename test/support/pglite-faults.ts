/** Statements of an embedded database that fail: before they are executed, or after. */
import type { PGlite, Transaction } from '@electric-sql/pglite'
import type { Database } from '../../src/store/db/database.ts'

export interface PgliteFaults {
  faults(): number
  /** Statements fail from now on. */
  begin(): void
  /** Statements succeed from now on. */
  calm(): void
}

type Query = PGlite['query']

/**
 * Makes statements of this database, COMMIT included, fail as `fate` decides: with `before` the statement is not
 * executed, with `after` it is, and the caller gets an error.
 */
export function pgliteFaults(db: Database, fate: () => 'pass' | 'before' | 'after'): PgliteFaults {
  const client = (db as unknown as { $client: PGlite }).$client
  const query: Query = client.query.bind(client)
  const transaction = client.transaction.bind(client)
  let count = 0
  const failing = (run: Query): Query =>
    (async (...statement: Parameters<Query>) => {
      const what = fate()
      if (what !== 'pass') count++
      if (what === 'before') throw new Error('could not write: the disk is gone')
      const result = await run(...statement)
      if (what === 'after') throw new Error('could not sync: the disk is gone')
      return result
    }) as Query
  const failingTransaction = (async (work: (tx: Transaction) => Promise<unknown>) => {
    const result = await transaction((tx) => {
      const own: Query = tx.query.bind(tx)
      return work(Object.assign(tx, { query: failing(own) }))
    })
    const what = fate()
    if (what !== 'after') return result
    count++
    throw new Error('could not sync: the disk is gone')
  }) as PGlite['transaction']
  return {
    faults: () => count,
    begin() {
      client.query = failing(query)
      client.transaction = failingTransaction
    },
    calm() {
      client.query = query
      client.transaction = transaction
    },
  }
}
