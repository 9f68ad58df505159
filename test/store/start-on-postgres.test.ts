/** What a start says when its database cannot be used, and what it does behind a pooler. */
import postgres from 'postgres'
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

async function open(url: string, directUrl = url): Promise<Connection> {
  const connection = await connect({ kind: 'postgres', url, directUrl, poolSize: 4 })
  closers.push(() => connection.close())
  return connection
}

/** What a process would print that starts on this database. */
async function startOn(url: string, directUrl = url): Promise<string> {
  const connection = await open(url, directUrl)
  return migrate(connection).then(() => 'started', startFault)
}

describe.skipIf(!hasPostgres || !hasPgBouncer)('behind PgBouncer', () => {
  type Mode = Parameters<typeof startPgBouncer>[1]
  async function bothWays(mode: Mode): Promise<{ pooled: string; direct: string }> {
    const { url, drop } = await postgresDatabase()
    closers.push(drop)
    const bouncer = await startPgBouncer(url, mode)
    closers.push(() => bouncer.close())
    return { pooled: bouncer.url, direct: url }
  }
  const behind = async (mode: Mode) => (await bothWays(mode)).pooled

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

  test('DIRECT_URL is the way past it for LISTEN and migrations', async () => {
    const { pooled, direct } = await bothWays('session')
    const h = await openHarness({ databaseUrl: pooled, directUrl: direct })
    closers.push(() => h.stop())
    const rows = await query<{ name: string; port: number }>(
      h.app.services.db,
      sql`select application_name as name, client_port as port from pg_stat_activity
        where datname = current_database() and application_name like 'gatehouse%'`,
    )
    // The pooler announces the names of its clients: what is past it has another session than what is behind it.
    expect(rows.map(({ name }) => name)).toContain('gatehouse pubsub')
    const bouncer = postgres(new URL('/pgbouncer', pooled).href, {
      max: 1,
      prepare: false,
      fetch_types: false,
    })
    closers.push(() => bouncer.end({ timeout: 1 }))
    const clients = await bouncer.unsafe('show clients').simple()
    const names = clients.map((client) => String(client['application_name']))
    expect(names).toContain('gatehouse')
    expect(names).not.toContain('gatehouse pubsub')
  })

  test('a DIRECT_URL to another database, or to a pooler of transactions, ends the start with its cause', async () => {
    const { pooled } = await bothWays('session')
    const other = await postgresDatabase()
    closers.push(() => other.drop())
    expect(await startOn(pooled, other.url)).toMatch(
      /DATABASE_URL and DIRECT_URL lead to different databases/,
    )
    const shared = await bothWays('transaction')
    expect(await startOn(shared.direct, shared.pooled)).toMatch(/^DIRECT_URL leads to a pooler/)
    expect(await startOn(shared.pooled, shared.direct)).toMatch(/^DATABASE_URL leads to a pooler/)
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
    /^No connection to the database that DATABASE_URL names could be opened\.\n {2}because: .*ECONNREFUSED/,
  )
})

test.skipIf(!hasClusters)(
  'a start on a standby alone says so, and beside its primary it uses that',
  { timeout: 180_000 },
  async () => {
    const primary = await startCluster()
    closers.push(() => primary.remove())
    const standby = await primary.startStandby()
    closers.push(() => standby.remove())
    expect(await startOn(standby.url)).toMatch(
      /because: The database server is a standby, or default_transaction_read_only is on/,
    )
    const host = (url: string) => new URL(url).host
    const ofLibpq =
      'target_session_attrs=read-write&channel_binding=prefer&keepalives_idle=5&application_name=mine'
    const both = `postgres://postgres@${host(standby.url)},${host(primary.url)}/postgres?${ofLibpq}`
    expect(await startOn(both)).toBe('started')
  },
)
