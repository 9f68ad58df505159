/** A round under Patroni: two replicas with gated load and subscribers meet a fault, and all is judged and measured. */
import { setTimeout as pause } from 'node:timers/promises'
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { expect, vi } from 'vitest'
import { followFeed } from '../support/feed-readers.ts'
import type { PatroniCluster } from '../support/patroni.ts'
import { randomSchedule } from '../support/random.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { prepare, startClients, type Clients } from './clients.ts'
import { judge, judgeFeed, type Rows } from './judgement.ts'
import { startOutside, type Outside } from './outside.ts'

const random = randomSchedule()
const key = 'gh_over_operator_0123456789012345678901234567890123456'
/** Five to six runs a second. */
const everyMs = 180
const generations = 250
/** Runs before the fault. */
const early = 40

/** What happens to the leader, and how the cluster is made whole afterwards. */
export interface Fault {
  strike(cluster: PatroniCluster, leader: string): Promise<void>
  mend(cluster: PatroniCluster, former: string): Promise<void>
}

export type Entry = 'proxy' | 'hosts'

export interface Round {
  cluster: PatroniCluster
  /** The entry of the server. */
  program: string
  entry: Entry
  fault: Fault
}

/** Does one round on a database of its own; fails unless every guarantee held. Returns a line of the report. */
export async function playRound(round: Round): Promise<object> {
  const closers: (() => unknown)[] = []
  try {
    return await strikeUnderLoad(round, (close) => void closers.push(close))
  } finally {
    for (const close of closers.toReversed()) await close()
  }
}

async function strikeUnderLoad(
  { cluster, program, entry, fault }: Round,
  later: (close: () => unknown) => void,
): Promise<object> {
  const database = await cluster.createDatabase(`gatehouse_${randomBytes(4).toString('hex')}`)
  const outside = await startOutside(250)
  later(() => outside.close())
  const replicas: Replica[] = []
  // The first one migrates the database.
  for (let i = 0; i < 2; i++) {
    const replica = startReplica(program, settings(database[entry], outside))
    later(() => replica.kill())
    await replica.ready
    replicas.push(replica)
  }
  const agentId = await prepare(replicas[0]!.url, key, outside, 120)
  const readers = replicas.map(({ url }) => followFeed({ url, key, after: '0' }))
  for (const reader of readers) later(() => reader.close())
  const readiness = watchReadiness(replicas)
  later(() => readiness.stop())
  const clients = startClients({
    key,
    agentId,
    generations,
    everyMs,
    retryMs: 1000,
    anyUrl: () => replicas[Math.floor(random() * replicas.length)]!.url,
    verdictOf: (n) => (n % 10 === 0 ? 'REJECT' : 'APPROVE'),
  })
  later(() => clients.close())
  await vi.waitUntil(() => clients.started.size >= early, { timeout: 180_000 })
  const former = await cluster.leader()
  const struckAt = performance.now()
  await fault.strike(cluster, former)
  const tookOver = await takenOver(cluster, former, struckAt)
  // The former leader comes back when the next one is at work.
  const leadsAt = performance.now()
  await vi.waitUntil(() => clients.acknowledgedAt.filter((at) => at > leadsAt).length >= early, {
    timeout: 180_000,
  })
  await fault.mend(cluster, former)
  await clients.ended
  await clients.close()

  const sql = postgres(database.hosts, { max: 1, onnotice: () => {}, target_session_attrs: 'read-write' })
  later(() => sql.end({ timeout: 1 }))
  const rows: Rows = (text) => sql.unsafe(text)
  const tally = await judge(rows, clients, outside, generations)
  await Promise.all(readers.map((reader) => vi.waitUntil(() => reader.told.length >= tally.events)))
  for (const reader of readers) {
    await judgeFeed(
      rows,
      reader.told.map(({ cursor }) => cursor),
    )
    expect(reader.errors.filter(({ extensions }) => extensions?.['code'] !== 'UNAVAILABLE')).toEqual([])
  }
  const unsent = await unsentUnknown(rows, outside)
  await vi.waitFor(() => expect(readiness.now()).toEqual([200, 200]))
  const log = await incarnations(rows)
  return {
    entry,
    leaderMs: Math.round(tookOver),
    ...stallOf(clients, struckAt),
    ...tally,
    unknownNotSent: unsent,
    notSent: (await rows(`select 1 from tool_calls where error_code = 'not_sent'`)).length,
    posts: outside.journal.filter(({ method }) => method === 'POST').length,
    executions: outside.journal.length,
    refusals: Object.fromEntries(clients.refusals),
    notReady: readiness.tell(struckAt),
    ...log,
    warnings: replicas.map(
      (one) =>
        one
          .output()
          .split('\n')
          .filter((line) => line.includes('"level":')).length,
    ),
  }
}

const settings = (databaseUrl: string, outside: Outside) => ({
  DATABASE_URL: databaseUrl,
  GATEHOUSE_DATABASE_POOL: '20',
  GATEHOUSE_PORT: '0',
  GATEHOUSE_DEMO: 'false',
  GATEHOUSE_ADMIN_KEY: key,
  GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  GATEHOUSE_EGRESS_ALLOW: outside.address,
  GATEHOUSE_REQUESTS_PER_MINUTE: '1000000',
  GATEHOUSE_LOG_LEVEL: 'warn',
})

/** Milliseconds until another node leads. */
async function takenOver(cluster: PatroniCluster, former: string, since: number): Promise<number> {
  while ((await cluster.leader()) === former) await pause(100)
  return performance.now() - since
}

/** The longest time without an acknowledgement that began or ended after the fault. */
function stallOf({ acknowledgedAt }: Clients, struckAt: number) {
  const times = acknowledgedAt.toSorted((a, b) => a - b)
  const gaps = times.slice(1).map((at, i) => ({ from: times[i]!, ms: at - times[i]! }))
  const stall = gaps.filter(({ from, ms }) => from + ms > struckAt).toSorted((a, b) => b.ms - a.ms)[0]!
  return { stallMs: Math.round(stall.ms) }
}

/** UNKNOWN calls of which the service has no request. */
async function unsentUnknown(rows: Rows, { journal }: Outside): Promise<number> {
  const seen = new Set(journal.map((one) => one.key))
  const unknown = await rows(`select id from tool_calls where status = 'UNKNOWN'`)
  return unknown.filter(({ id }) => !seen.has(id)).length
}

async function incarnations(rows: Rows) {
  const [row] = await rows('select jsonb_array_length(earlier) as n, fingerprint from installation')
  return { incarnations: row!['n'], timeline: row!['fingerprint'].split('/')[1] }
}

/** Asks /readyz of every replica four times a second. */
function watchReadiness(replicas: readonly Replica[]) {
  const answers: { at: number; replica: number; status: number }[] = []
  let stopped = false
  const watch = async (replica: Replica, i: number) => {
    while (!stopped) {
      const at = performance.now()
      const response = await fetch(`${replica.url}/readyz`).catch(() => null)
      answers.push({ at, replica: i, status: response?.status ?? 0 })
      await pause(250)
    }
  }
  const ended = Promise.all(replicas.map(watch))
  return {
    now: () => replicas.map((_, i) => answers.findLast(({ replica }) => replica === i)?.status),
    tell(struckAt: number) {
      const not = answers.filter(({ status }) => status !== 200).map(({ at }) => at - struckAt)
      return not.length === 0
        ? null
        : {
            n: not.length,
            of: answers.length,
            fromMs: Math.round(Math.min(...not)),
            toMs: Math.round(Math.max(...not)),
          }
    },
    async stop() {
      stopped = true
      await ended
    },
  }
}
