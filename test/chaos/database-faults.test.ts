/**
 * Random fault schedules between server and database: connections cut before and after any statement, late
 * statements, connections that hang, a replica that loses its database altogether, tool results that are lost. Each
 * generation is a schedule of its own; the seed of a run is printed, and CHAOS_SEED repeats it.
 */
import { sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { type Database, query } from '../../src/store/db/database.ts'
import { helloBegins } from '../../src/store/db/postgres/session.ts'
import { hasPostgres, memoryDatabase, postgresDatabase } from '../support/databases.ts'
import { type DatabaseProxy, type Fate, startDatabaseProxy } from '../support/database-proxy.ts'
import { dose } from '../support/dose.ts'
import { adminKey, type Harness, openHarness } from '../support/harness.ts'
import { prepare, startClients } from './clients.ts'
import { judge, type Rows, type Tally } from './judgement.ts'
import { startOutside } from './outside.ts'
import { randomSchedule } from '../support/random.ts'
import type { PGlite, Transaction } from '@electric-sql/pglite'

/** Statements of an embedded database that fail: before they are executed, or after. */
interface PgliteFaults {
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
function pgliteFaults(db: Database, fate: () => 'pass' | 'before' | 'after'): PgliteFaults {
  const client = (db as unknown as { $client: PGlite }).$client
  const plainQuery: Query = client.query.bind(client)
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
      client.query = failing(plainQuery)
      client.transaction = failingTransaction
    },
    calm() {
      client.query = plainQuery
      client.transaction = transaction
    },
  }
}

const leaseMs = 2000
const schedules = dose(30, 10_000)
const everyMs = 15
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** Kinds of faults and the probability of each for a statement. */
const faults: [number, (random: () => number) => Fate][] = [
  [0.01, () => 'cutBefore'],
  [0.01, () => 'cutAfter'],
  [0.01, (random) => ({ delayMs: random() * 800 })],
  [0.0003, () => 'freeze'],
]

/** Faults that each kind of statement meets at least once. */
const certain = ['cutBefore', 'cutAfter'] as const

function fateBy(random: () => number): Fate {
  let at = random()
  for (const [share, make] of faults) {
    if (at < share) return make(random)
    at -= share
  }
  return 'pass'
}

/** Lets the clients work during the faults, and checks the result. */
async function survive(
  replicas: Harness[],
  rows: Rows,
  storm: { begin(): void; calm(): void },
): Promise<Tally> {
  const outside = await startOutside(60, { lostAnswers: 0.03 })
  closers.push(() => outside.close())
  const urls = replicas.map((one) => one.url)
  const agentId = await prepare(urls[0]!, adminKey, outside)
  storm.begin()
  const random = randomSchedule()
  const anyUrl = () => urls[Math.floor(random() * urls.length)]!
  const clients = startClients({ key: adminKey, agentId, generations: schedules, everyMs, anyUrl })
  closers.push(() => clients.close())
  const ended = await Promise.race([clients.ended.then(() => true), late(timeout - 90_000)])
  storm.calm()
  expect(ended ? [] : await rows(unfinished), 'what has not ended').toEqual([])
  await clients.close()
  return judge(rows, clients, outside, schedules)
}

/** What a run that does not end waits for. */
const unfinished = `select g.id, g.status, g.epoch, g.wake_at, now() as now, g.cancel_requested_at,
  (select json_agg(json_build_object('name', t.runtime_name, 'status', t.status, 'attempt', t.attempt, 'code', t.error_code))
    from tool_calls t where t.generation_id = g.id and t.settled_at is null) as open
  from generations g where finished_at is null limit 10`

function late(milliseconds: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), milliseconds).unref())
}

const timeout = 150_000 + schedules * 600

test.runIf(hasPostgres)(
  'two replicas on PostgreSQL whose statements fail at random lose nothing, double nothing and end everything',
  { timeout },
  async () => {
    const random = randomSchedule()
    const made = await postgresDatabase()
    closers.push(() => made.drop())
    const direct = await openHarness({ databaseUrl: made.url, role: 'api' })
    closers.push(() => direct.stop())
    const proxies: DatabaseProxy[] = []
    const replicas: Harness[] = []
    for (let i = 0; i < 2; i++) {
      const proxy = await startDatabaseProxy(made.url)
      closers.push(() => proxy.close())
      proxies.push(proxy)
      const replica = await openHarness({ databaseUrl: proxy.url, leaseMs, workerSlots: 24 })
      closers.push(() => replica.stop())
      replicas.push(replica)
    }
    const hit = new Map<string, number>()
    const judgeStatement = ({ text }: { text: string }): Fate => {
      // Statements that open a connection are covered by the cuts below.
      if (text.startsWith(helloBegins)) return 'pass'
      const kind = text.trim().split(/\s+/)[0]!.toLowerCase()
      // The first of each kind are hit for certain: some kinds are too few to be met by chance.
      const owed = certain.find((one) => !hit.has(`${kind} ${one}`))
      const fate = owed && random() < 0.5 ? owed : fateBy(random)
      if (fate !== 'pass') {
        const name = `${kind} ${typeof fate === 'object' ? 'late' : fate}`
        hit.set(name, (hit.get(name) ?? 0) + 1)
      }
      return fate
    }
    const storms = { cuts: 0, partitions: 0 }
    let timer: NodeJS.Timeout
    const storm = () => {
      timer = setTimeout(
        () => {
          const proxy = proxies[Math.floor(random() * proxies.length)]!
          if (random() < 0.5) {
            storms.cuts++
            proxy.cut()
          } else {
            storms.partitions++
            proxy.freeze()
            setTimeout(() => proxy.thaw(), leaseMs * (0.3 + random()))
          }
          storm()
        },
        2500 + random() * 4000,
      )
    }
    const calm = () => {
      clearTimeout(timer)
      for (const proxy of proxies) {
        proxy.judge = null
        proxy.thaw()
      }
    }
    closers.push(calm)
    const begin = () => {
      for (const proxy of proxies) proxy.judge = judgeStatement
      storm()
    }
    const rows: Rows = (text) => query(direct.app.services.db, sql.raw(text))
    const tally = await survive(replicas, rows, { begin, calm })
    console.log('faults on PostgreSQL', { ...tally, ...storms, ...Object.fromEntries(hit) })
    for (const kind of ['begin', 'commit', 'select', 'update', 'with'])
      expect(
        certain.filter((one) => hit.has(`${kind} ${one}`)),
        `faults at ${kind}`,
      ).toEqual(certain)
    expect(storms.cuts + storms.partitions).toBeGreaterThan(0)
    expect(Math.min(tally.approved, tally.rejected, tally.expired)).toBeGreaterThan(0)
  },
)

test(
  'an embedded database whose statements fail at random loses nothing, doubles nothing and ends everything',
  { timeout },
  async () => {
    const random = randomSchedule()
    const replica = await openHarness({ leaseMs, workerSlots: 24 }, { database: await memoryDatabase() })
    closers.push(() => replica.stop())
    const storm = pgliteFaults(replica.app.services.db, () => {
      const at = random()
      return at < 0.01 ? 'before' : at < 0.02 ? 'after' : 'pass'
    })
    closers.push(storm.calm)
    const rows: Rows = (text) => query(replica.app.services.db, sql.raw(text))
    const tally = await survive([replica], rows, storm)
    console.log('faults on PGlite', { ...tally, faults: storm.faults() })
    expect(storm.faults()).toBeGreaterThan(schedules / 10)
  },
)
