/** Three replicas on PostgreSQL: every second or two one of them is killed, or paused until its leases have ended. */
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildServer } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { prepare, startClients, type Clients } from './clients.ts'
import { judge, orphans } from './judgement.ts'
import { startOutside, type Outside } from './outside.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()

const generations = 300
const leaseMs = 1500
const key = 'gh_chaos_operator_012345678901234567890123456789012'
const closers: (() => unknown)[] = []
let entry: string
let outside: Outside
let database: { url: string }

beforeAll(async () => {
  if (!hasPostgres) return
  const [server, made] = await Promise.all([buildServer(), postgresDatabase()])
  entry = server.entry
  database = made
  closers.push(() => made.drop())
  outside = await startOutside(250)
  closers.push(() => outside.close())
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

function start(): Replica {
  return startReplica(entry, {
    DATABASE_URL: database.url,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_LEASE_MS: String(leaseMs),
    GATEHOUSE_EGRESS_ALLOW: outside.address,
    GATEHOUSE_REQUESTS_PER_MINUTE: '1000000',
    GATEHOUSE_LOG_LEVEL: 'error',
  })
}

test.skipIf(!hasPostgres)(
  'replicas killed and frozen at random lose nothing, double nothing and leave nothing behind',
  { timeout: 600_000 },
  async () => {
    const replicas = [start(), start(), start()]
    closers.push(() => Promise.all(replicas.map((one) => one.kill())))
    await Promise.all(replicas.map((one) => one.ready))
    const sql = postgres(database.url, { max: 2, onnotice: () => {} })
    closers.push(() => sql.end({ timeout: 1 }))
    const rows = (text: string) => sql.unsafe(text) as unknown as Promise<Record<string, any>[]>
    const agentId = await prepare(replicas[0]!.url, key, outside)
    const anyUrl = () => {
      const ready = replicas.filter((one) => one.url !== '')
      return ready[Math.floor(random() * ready.length)]?.url ?? 'http://127.0.0.1:9'
    }
    const clients = startClients({ key, agentId, generations, everyMs: 30, anyUrl })
    closers.push(() => clients.close())

    const storm = await strike(replicas, clients, rows)
    await Promise.race([clients.ended, late(120_000)])
    await clients.close()
    const codes = await Promise.all(replicas.map((one) => one.ready.then(() => one.stop())))
    const tally = await judge(rows, clients, outside, generations)
    console.log('chaos on PostgreSQL', { ...storm, ...tally, feedConnections: clients.connections })
    expect(codes, 'the replicas that were left drain on SIGTERM').toEqual([0, 0, 0])
    expect(storm.kills).toBeGreaterThanOrEqual(3)
    expect(storm.freezes).toBeGreaterThanOrEqual(2)
    expect(storm.mostUnfinished, 'the check for orphans looked at live generations').toBeGreaterThan(10)
    expect(tally.unknown, 'calls cut in the middle').toBeGreaterThan(0)
    expect(tally.retriedReads, 'reads that were repeated').toBeGreaterThan(0)
    expect(tally.resets, 'answers that were cut').toBeGreaterThan(0)
    expect(Math.min(tally.approved, tally.rejected, tally.expired), 'every kind of outcome').toBeGreaterThan(
      0,
    )
  },
)

const strikes = 9

/**
 * Every second or two a random replica is killed or paused; another one always keeps running. Every other one is
 * killed and started again. The rest are paused until others have taken over their rows, and then continue as if
 * nothing had happened: the epoch must refuse their writes.
 */
async function strike(replicas: Replica[], clients: Clients, rows: (text: string) => Promise<unknown[]>) {
  const storm = { kills: 0, freezes: 0, mostUnfinished: 0 }
  const frozen = new Set<Replica>()
  let ended = false
  void clients.ended.then(() => (ended = true))
  for (let round = 0; round < 2 * strikes && storm.kills + storm.freezes < strikes && !ended; round++) {
    await Promise.race([clients.ended, pause(1000 + random() * 1000)])
    const up = replicas.flatMap((one, i) => (one.url === '' || frozen.has(one) ? [] : [i]))
    if (ended || up.length < 2) continue
    const killed = up[Math.floor(random() * up.length)]!
    const replica = replicas[killed]!
    if ((storm.kills + storm.freezes) % 2 === 1) {
      storm.freezes++
      frozen.add(replica)
      replica.freeze()
      void pause(leaseMs * 2.2).then(() => {
        replica.thaw()
        frozen.delete(replica)
      })
    } else {
      storm.kills++
      await replica.kill()
      replicas[killed] = start()
    }
    expect(await rows(orphans), 'orphans in the middle of the storm').toEqual([])
    const [open] = (await rows('select count(*)::int as n from generations where finished_at is null')) as {
      n: number
    }[]
    storm.mostUnfinished = Math.max(storm.mostUnfinished, open!.n)
  }
  return storm
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

function late(milliseconds: number): Promise<never> {
  return new Promise((_resolve, reject) =>
    setTimeout(() => reject(new Error('the generations did not end in time')), milliseconds).unref(),
  )
}
