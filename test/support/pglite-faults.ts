/** Statements of an embedded database that fail: before they are carried out, or after. */
import type { PGlite, Transaction } from '@electric-sql/pglite'
import type { Database } from '../../src/store/db/database.ts'

export interface PgliteFaults {
  faults(): number
  /** Statements fail from now on. */
  begin(): void
  /** Nothing fails from now on. */
  calm(): void
}

type Query = PGlite['query']

/**
 * Lets statements of this database fail as `fate` says, and COMMIT with them: `before` nothing of the statement takes
 * place, `after` it does and nobody is told.
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
