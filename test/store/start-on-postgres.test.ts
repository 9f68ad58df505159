/** What a start says when its database cannot be used, and what it does behind a pooler. */
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { startFault } from '../../src/start-fault.ts'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { query } from '../../src/store/db/database.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { sql } from '../../src/store/db/sql.ts'
import { hasClusters, startCluster } from '../support/cluster.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { openHarness } from '../support/harness.ts'
import { hasPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'

const closers: (() => unknown)[] = []
const closeAll = async () => {
  for (const close of closers.splice(0).toReversed()) await close()
}
afterEach(closeAll)
afterAll(closeAll)

async function open(url: string): Promise<Connection> {
  const connection = await connect({ kind: 'postgres', url, poolSize: 4 })
  closers.push(() => connection.close())
  return connection
}

/** What a process would print that starts on this database. */
async function startOn(url: string): Promise<string> {
  const connection = await open(url)
  return migrate(connection).then(() => 'started', startFault)
}

describe.skipIf(!hasPostgres || !hasPgBouncer)('behind PgBouncer', () => {
  async function behind(mode: Parameters<typeof startPgBouncer>[1]): Promise<string> {
    const { url, drop } = await postgresDatabase()
    closers.push(drop)
    const bouncer = await startPgBouncer(url, mode)
    closers.push(() => bouncer.close())
    return bouncer.url
  }

  test('in session mode a server starts, with its limits, and works', async () => {
    const databaseUrl = await behind('session')
    const h = await openHarness({ databaseUrl })
    closers.push(() => h.stop())
    expect((await h.mutate('createAgent', { name: 'a' }, 'agent { name }'))['agent']).toEqual({ name: 'a' })
    const limits = await query<{ s: string; l: string; t: string }>(
      h.app.services.db,
      sql`select current_setting('statement_timeout') as s, current_setting('lock_timeout') as l,
        current_setting('idle_in_transaction_session_timeout') as t`,
    )
    expect(limits).toEqual([{ s: '15s', l: '8s', t: '4s' }])
  })

  test.each(['transaction', 'statement'] as const)(
    'in %s mode no server starts, and it says why',
    async (mode) => {
      expect(await startOn(await behind(mode))).toMatch(/pool_mode = session/)
    },
  )
})

test('a start without a database says what the server answered', async () => {
  expect(await startOn('postgres://nobody@127.0.0.1:9/none')).toMatch(
    /^No connection to the database could be opened\.\n {2}because: .*ECONNREFUSED/,
  )
})

test.skipIf(!hasClusters)(
  'a start on a standby alone says so, and beside its primary it uses that',
  { timeout: 60_000 },
  async () => {
    const primary = await startCluster()
    closers.push(() => primary.remove())
    const standby = await primary.startStandby()
    closers.push(() => standby.remove())
    expect(await startOn(standby.url)).toMatch(/because: The database server is a standby or read-only/)
    const host = (url: string) => new URL(url).host
    const both = `postgres://postgres@${host(standby.url)},${host(primary.url)}/postgres`
    expect(await startOn(both)).toBe('started')
  },
)
