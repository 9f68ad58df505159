/** Connections to PostgreSQL that are closed, frozen and refused at every kind of statement. */
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { atomically, query } from '../../src/store/db/database.ts'
import { SessionPool } from '../../src/store/db/postgres/pool.ts'
import { openSession } from '../../src/store/db/postgres/session.ts'
import { CommitUnknownError, isOutage } from '../../src/store/db/storage-error.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startDatabaseProxy, type DatabaseProxy, type Fate } from '../support/database-proxy.ts'
import { dose, seededRandom } from '../support/dose.ts'

let made: Awaited<ReturnType<typeof postgresDatabase>>
let direct: Connection
let proxy: DatabaseProxy
let cuttable: Connection

beforeAll(async () => {
  if (!hasPostgres) return
  made = await postgresDatabase()
  direct = await connect({ kind: 'postgres', url: made.url, poolSize: 2 })
  await query(direct.db, sql`create table marks (work int not null, n int not null, primary key (work, n))`)
  proxy = await startDatabaseProxy(made.url)
  cuttable = await connect({ kind: 'postgres', url: proxy.url, poolSize: 6 })
})
afterEach(() => {
  if (proxy) proxy.judge = null
})
afterAll(async () => {
  await cuttable?.close()
  await proxy?.close()
  await direct?.close()
  await made?.drop()
})

const marksOf = async (work: number) =>
  (await query<{ n: number }>(direct.db, sql`select n from marks where work = ${work} order by n`)).map(
    (row) => row.n,
  )

test.skipIf(!hasPostgres)(
  'no statement is compiled, on any connection: its costs may be guesses',
  async () => {
    const session = await direct.openSession!()
    const settings = [
      ...(await query<{ jit: string }>(direct.db, sql`show jit`)),
      ...(await query<{ jit: string }>(direct.leaseDb, sql`show jit`)),
      ...((await session.run('show jit', [], { prepare: false, values: false })) as { jit: string }[]),
    ]
    await session.end(0)
    expect(settings).toEqual([{ jit: 'off' }, { jit: 'off' }, { jit: 'off' }])
  },
)

/** Until the server notices the end of a connection, its transaction is neither committed nor rolled back. */
async function settled(): Promise<void> {
  for (;;) {
    const rows = await query<{ n: number }>(
      direct.db,
      sql`select count(*)::int as n from pg_stat_activity where datname = current_database()
        and application_name = 'gatehouse' and state <> 'idle' and pid <> pg_backend_pid()`,
    )
    if (rows[0]!.n === 0) return
  }
}

/** Three statements, one of them in a savepoint that fails half of the time. */
function transaction(work: number, failing: boolean): Promise<void> {
  return atomically(cuttable.db, async (tx) => {
    await query(tx, sql`insert into marks values (${work}, 1)`)
    await atomically(tx, async (inner) => {
      await query(inner, sql`insert into marks values (${work}, 2)`)
      if (failing) throw new Error('taken back')
    }).catch((error: unknown) => {
      if (isOutage(error)) throw error
    })
    await query(tx, sql`update marks set n = n + 10 where work = ${work} and n = 1`)
  })
}

test.runIf(hasPostgres)(
  'a connection that is cut at any statement, BEGIN and COMMIT included, ends only that try, and nothing is half done',
  async () => {
    const random = seededRandom(20_261_122)
    const kinds = new Map<string, number>()
    proxy.judge = ({ text }): Fate => {
      if (random() > 0.12) return 'pass'
      const kind = text.split(/\s+/)[0]!.toLowerCase()
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      return random() < 0.5 ? 'cutBefore' : 'cutAfter'
    }
    const works = dose(200, 10_000)
    const fates: ('done' | 'lost' | 'unknown')[] = []
    let next = 0
    const runWork = async () => {
      while (next < works) {
        const work = next++
        fates[work] = await transaction(work, work % 2 === 0).then(
          () => 'done' as const,
          (error: unknown) => {
            expect(isOutage(error), String(error)).toBe(true)
            return error instanceof CommitUnknownError ? 'unknown' : 'lost'
          },
        )
        // Single statements share the connections with the transactions, and must never land inside one.
        if (work % 3 === 0)
          await query(cuttable.db, sql`insert into marks values (${-work - 1}, 1)`).catch(() => {})
      }
    }
    await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(runWork))
    proxy.judge = null
    await settled()
    for (const [work, fate] of fates.entries()) {
      const marks = await marksOf(work)
      const whole = work % 2 === 0 ? [11] : [2, 11]
      if (fate === 'done') expect(marks, `work ${work}`).toEqual(whole)
      else if (fate === 'lost') expect(marks, `work ${work}`).toEqual([])
      else expect([[], whole], `work ${work}`).toContainEqual(marks)
    }
    for (const kind of ['begin', 'insert', 'update', 'commit', 'savepoint', 'release', 'rollback'])
      expect(kinds.get(kind) ?? 0, `cuts at ${kind}`).toBeGreaterThan(0)
    // The pool is as good as new.
    await transaction(1_000_000, false)
    expect(await marksOf(1_000_000)).toEqual([2, 11])
  },
  dose(120_000, 900_000),
)

test.runIf(hasPostgres)(
  'after every connection was cut at once the next statements find new ones',
  async () => {
    for (let round = 0; round < 20; round++) {
      const under = Promise.allSettled(
        Array.from({ length: 30 }, () => query(cuttable.db, sql`select pg_sleep(0.005)`)),
      )
      proxy.cut()
      await under
      const after = await Promise.all(
        Array.from({ length: 12 }, (_, i) => query<{ n: number }>(cuttable.db, sql`select ${i}::int as n`)),
      )
      expect(after.map((rows) => rows[0]!.n)).toEqual(Array.from({ length: 12 }, (_, i) => i))
    }
  },
)

test.runIf(hasPostgres)(
  'statements are prepared, each once on a connection, and keep working when a plan changes',
  async () => {
    const own = await connect({ kind: 'postgres', url: made.url, poolSize: 1 })
    await query(direct.db, sql`insert into marks values (2000000, 2)`)
    try {
      for (let i = 0; i < 5; i++) await query(own.db, sql`select * from marks where work = ${i} limit 1`)
      const names = await query<{ n: number }>(
        own.db,
        sql`select count(*)::int as n from pg_prepared_statements where statement like 'select * from marks%'`,
      )
      expect(names[0]!.n).toBe(1)
      await query(direct.db, sql`alter table marks add column note text`)
      expect(await query(own.db, sql`select * from marks where work = ${2_000_000} limit 1`)).toEqual([
        { work: 2_000_000, n: 2, note: null },
      ])
      const inside = await atomically(own.db, async (tx) => {
        await query(direct.db, sql`alter table marks add column if not exists other text`)
        return query(tx, sql`select * from marks where work = ${2_000_000} limit 1`)
      })
      expect(inside).toHaveLength(1)
    } finally {
      await own.close()
    }
  },
)

test.runIf(hasPostgres)(
  'a process that stands still inside a transaction loses it, and those who wait for its locks go on',
  async () => {
    await query(direct.db, sql`insert into marks values (-5000, 1)`)
    let release = () => {}
    const standing = atomically(cuttable.db, async (tx) => {
      await query(tx, sql`select 1 from marks where work = -5000 for update`)
      await new Promise<void>((resolve) => (release = resolve))
      await query(tx, sql`update marks set n = 2 where work = -5000`)
    })
    await query(cuttable.db, sql`select 1`)
    // It would wait for ever: the other stands still until this is done.
    await query(direct.db, sql`update marks set n = 3 where work = -5000`)
    // Thawed: it finds out, tries again as a whole, and is last.
    release()
    const again = setInterval(() => release(), 20)
    await standing.finally(() => clearInterval(again))
    expect(await marksOf(-5000)).toEqual([2])
  },
)

test.runIf(hasPostgres)(
  'a transaction that needs statements beside itself gets them, however many run at once',
  async () => {
    const nested = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        atomically(cuttable.db, async (tx) => {
          await query(tx, sql`select 1`)
          const rows = await query<{ n: number }>(cuttable.db, sql`select ${i}::int as n`)
          return rows[0]!.n
        }),
      ),
    )
    expect(nested).toEqual(Array.from({ length: 20 }, (_, i) => i))
  },
)

test.runIf(hasPostgres)(
  'a server that gives fewer connections than it is asked for is used with those it gives',
  async () => {
    const role = `gatehouse_few_${Date.now()}`
    await query(direct.db, sql.raw(`create role ${role} login connection limit 2`))
    await query(direct.db, sql.raw(`grant select on marks, installation to ${role}`))
    const url = new URL(made.url)
    url.username = role
    const own = await connect({ kind: 'postgres', url: url.href, poolSize: 10 })
    try {
      const many = await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          query<{ n: number }>(own.db, sql`select ${i}::int as n, pg_sleep(0.01)`),
        ),
      )
      expect(many.map((rows) => rows[0]!.n)).toEqual(Array.from({ length: 60 }, (_, i) => i))
    } finally {
      await own.close()
      await query(direct.db, sql.raw(`drop owned by ${role}`))
      await query(direct.db, sql.raw(`drop role ${role}`))
    }
  },
)

test.runIf(hasPostgres)('a pool that is renewed uses no connection of before', async () => {
  const open = () =>
    openSession({ url: made.url, applicationName: 'renewed', settings: {}, connectMs: 5000, silenceMs: null })
  const pool = new SessionPool({ open, max: 3, waitMs: 5000 })
  const pids = async () => {
    const asked = Array.from({ length: 6 }, () =>
      pool.run('select pg_backend_pid() as pid', [], { prepare: false, values: false }),
    )
    return new Set((await Promise.all(asked)).map(([row]) => (row as { pid: number }).pid))
  }
  const before = await pids()
  pool.renew()
  const after = await pids()
  await pool.end(1000)
  expect([...after].filter((pid) => before.has(pid))).toEqual([])
})
