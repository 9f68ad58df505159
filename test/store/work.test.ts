/** The contract of work rows on both databases. */
import { describe } from 'vitest'
import { connect } from '../../src/store/db/connect.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { hasPostgres, memoryDatabase, postgresDatabase } from '../support/databases.ts'
import { workSuite } from '../suites/work.suite.ts'

workSuite('work rows on PGlite', async () => connect(await memoryDatabase()))

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  workSuite('work rows on PostgreSQL', async () => {
    const { url, drop } = await postgresDatabase()
    const connection = await connect({ kind: 'postgres', url, poolSize: 20 })
    await migrate(connection)
    return { ...connection, drop }
  })
})
