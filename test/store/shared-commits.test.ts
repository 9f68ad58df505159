/**
 * Statements of one moment share a commit on PostgreSQL (decision 54). What each may do to the others: nothing; and what a
 * lost connection may do to them: all are written, or none.
 */
import { sql, type SQL } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { atomically, isUniqueViolation, query } from '../../src/store/db/database.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { sharingCommits } from '../../src/store/db/fast-statements.ts'
import { ConnectionLostError } from '../../src/store/db/storage-error.ts'
import { startDatabaseProxy, type DatabaseProxy, type Passing } from '../support/database-proxy.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'

describe.runIf(hasPostgres)('statements of one moment', () => {
  let made: Awaited<ReturnType<typeof postgresDatabase>>
  let proxy: DatabaseProxy
  let connection: Connection
  /** What reached the server since the last test. */
  let seen: Passing[] = []
  let name = 0

  beforeAll(async () => {
    made = await postgresDatabase()
    proxy = await startDatabaseProxy(made.url)
    connection = await connect({ kind: 'postgres', url: proxy.url, poolSize: 20 })
    await migrate(connection)
    await query(connection.db, sql`create table notes (id text primary key, n integer not null)`)
  })
  afterAll(async () => {
    await connection?.close()
    await proxy?.close()
    await made?.drop()
  })
  afterEach(() => void (proxy.judge = null))

  const watch = () => {
    seen = []
    proxy.judge = (passing) => (seen.push(passing), 'pass')
  }
  const send = <Row>(statement: SQL) => query<Row>(sharingCommits(connection.db), statement)
  const fresh = (many: number) => Array.from({ length: many }, () => `note_${++name}`)
  const insert = (id: string, n = 1) =>
    send<{ xid: string }>(
      sql`insert into notes (id, n) values (${id}, ${n}::int) returning pg_current_xact_id()::text as xid`,
    )
  const written = async (ids: string[]) =>
    (await query<{ id: string }>(connection.db, sql`select id from notes where id in ${ids}`))
      .map(({ id }) => id)
      .toSorted()

  test('are one transaction, and each has the rows of its own statement', async () => {
    const ids = fresh(40)
    const results = await Promise.all(ids.map((id, i) => insert(id, i)))
    expect(new Set(results.map(([row]) => row!.xid)).size).toBe(1)
    const read = await Promise.all(
      ids.map((id) => send<{ n: number }>(sql`update notes set n = n + 1 where id = ${id} returning n`)),
    )
    expect(read.map(([row]) => row!.n)).toEqual(ids.map((_, i) => i + 1))
  })

  test('are at most 64, and of about a million characters', async () => {
    watch()
    await Promise.all(fresh(130).map((id) => insert(id)))
    expect(seen.filter(({ text }) => text.startsWith('begin')).length).toBe(3)
    watch()
    const long = fresh(5).map((id) => id + 'x'.repeat(2000))
    await Promise.all(
      long.map((id) => send(sql`insert into notes select ${id}, length(${'y'.repeat(240_000)}::text)`)),
    )
    // Four of them fit, and the fifth is alone.
    expect(seen.filter(({ text }) => text.startsWith('begin')).length).toBe(1)
    expect(await written(long)).toEqual(long)
  })

  test('one that is alone has no transaction around it', async () => {
    watch()
    await insert(fresh(1)[0]!)
    expect(seen.map(({ text }) => text.split(' ')[0])).toEqual(['insert'])
  })

  test('one that the server refuses fails by itself', async () => {
    const ids = fresh(12)
    await insert(ids[5]!)
    const results = await Promise.allSettled(ids.map((id) => insert(id)))
    for (const [i, result] of results.entries()) {
      if (i !== 5) expect(result.status).toBe('fulfilled')
      else expect(isUniqueViolation((result as PromiseRejectedResult).reason)).toBe(true)
    }
    expect(await written(ids)).toEqual(ids.toSorted())
  })

  test('one that waits for a lock waits alone', async () => {
    const ids = fresh(6)
    for (const id of ids) await insert(id)
    let held: Promise<unknown> | undefined
    await atomically(connection.db, async (tx) => {
      await query(tx, sql`select 1 from notes where id = ${ids[2]!} for update`)
      const sent = ids.map((id) => send(sql`update notes set n = 2 where id = ${id} returning n`))
      held = sent.splice(2, 1)[0]
      // The lock is held until these have been answered.
      for (const rows of await Promise.all(sent)) expect(rows).toEqual([{ n: 2 }])
      const later = Promise.race([held, Promise.resolve('waits')])
      expect(await later).toBe('waits')
    })
    expect(await held).toEqual([{ n: 2 }])
  })

  test('two that want the same row see each other: the proof of the second does not hold', async () => {
    const [id] = fresh(1)
    await insert(id!)
    const take = () => send(sql`update notes set n = 2 where id = ${id!} and n = 1 returning n`)
    const results = await Promise.all([take(), take(), take()])
    expect(results.map((rows) => rows.length)).toEqual([1, 0, 0])
  })

  test.each([
    ['before the commit', 'cutBefore', [0]],
    ['behind the commit', 'cutAfter', [0, 8]],
  ] as const)('a connection that is lost %s tells none that it was written', async (_name, fate, left) => {
    const ids = fresh(8)
    proxy.judge = ({ text }) => (text === 'commit' ? fate : 'pass')
    const results = await Promise.allSettled(ids.map((id) => insert(id)))
    proxy.judge = null
    for (const result of results) {
      expect(result.status).toBe('rejected')
      expect((result as PromiseRejectedResult).reason.cause ?? result).toBeInstanceOf(ConnectionLostError)
    }
    // All of them or none.
    expect(left).toContain((await written(ids)).length)
  })

  test('none is told that it was written before the commit was confirmed', async () => {
    const ids = fresh(8)
    proxy.judge = ({ text }) => (text === 'commit' ? { delayMs: 5000 } : 'pass')
    const results = Promise.allSettled(ids.map((id) => insert(id)))
    // All statements have been answered, and the server waits for the commit.
    const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`
    await expect.poll(async () => (await query(connection.leaseDb, waiting)).length).toBe(1)
    proxy.cut()
    proxy.judge = null
    expect((await results).map(({ status }) => status)).toEqual(ids.map(() => 'rejected'))
    expect(await written(ids)).toEqual([])
  })
})
