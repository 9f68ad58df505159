/**
 * A release as operators make it: three replicas of the release before under load, each ended by SIGTERM and replaced by one
 * of this release, which migrates the database beside the others; then all are replaced once more.
 */
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { askMutation } from '../support/ask.ts'
import { buildReleaseBefore, buildServer } from '../support/build.ts'
import { hasPostgres, emptyPostgresDatabase } from '../support/databases.ts'
import { dose } from '../support/dose.ts'
import { followFeedBySse } from '../support/readers.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { feedTypes, prepare, startClients } from './clients.ts'
import { judge } from './judgement.ts'
import { startOutside, type Outside } from './outside.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()

const generations = dose(120, 1200)
const rounds = dose(2, 12)
const key = 'gh_roll_operator_0123456789012345678901234567890123456'
const closers: (() => unknown)[] = []
let entry: string
let entryBefore: string
let outside: Outside
let database: { url: string }

beforeAll(async () => {
  if (!hasPostgres) return
  const [server, before, made] = await Promise.all([
    buildServer(),
    buildReleaseBefore(),
    emptyPostgresDatabase(),
  ])
  entry = server.entry
  entryBefore = before ?? entry
  database = made
  closers.push(() => made.drop())
  outside = await startOutside(250)
  closers.push(() => outside.close())
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

function start(program: string): Replica {
  const replica = startReplica(program, {
    DATABASE_URL: database.url,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_EGRESS_ALLOW: outside.address,
    GATEHOUSE_REQUESTS_PER_MINUTE: '1000000',
    GATEHOUSE_DRAIN_MS: '300',
    // Shorter than a new replica needs to be ready: clients that keep their connections see it end.
    GATEHOUSE_GRACE_MS: '2500',
    GATEHOUSE_LOG_LEVEL: 'error',
  })
  closers.push(() => replica.kill())
  return replica
}

interface Caller {
  /** The final response for each key. */
  told: Map<string, string>
  /** Requests that had to be repeated. */
  repeated: number
  stop(): Promise<void>
}

const retryMs = 50
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Makes one direct call after the other, each repeated with its key until it gets a response. */
function startCaller(toolId: string, name: string, anyUrl: () => string): Caller {
  let stopped = false
  const caller: Caller = { told: new Map(), repeated: 0, stop: async () => {} }
  const call = async (idempotencyKey: string): Promise<string> => {
    const input = { toolId, arguments: { about: idempotencyKey }, idempotencyKey }
    for (let tries = 0; tries < 200; tries++) {
      const fields = 'toolCall { status attempt }'
      const result = await askMutation(anyUrl(), key, 'callTool', input, fields).catch(() => null)
      const answer = result?.data?.['callTool']
      if (answer?.toolCall) return `${answer.toolCall.status} ${answer.toolCall.attempt}`
      caller.repeated++
      await pause(retryMs)
    }
    return 'never answered'
  }
  const working = (async () => {
    for (let n = 1; !stopped; n++) {
      const about = `${name}-${n}`
      caller.told.set(about, await call(about))
    }
  })()
  caller.stop = () => ((stopped = true), working)
  return caller
}

test.skipIf(!hasPostgres)(
  'a rolling upgrade and restart under load leaves no call unknown, runs none twice, and every error is resolved by a repeat',
  { timeout: 180_000 + rounds * 60_000 },
  async () => {
    const replicas = [start(entryBefore), start(entryBefore), start(entryBefore)]
    await Promise.all(replicas.map((one) => one.ready))
    const sql = postgres(database.url, { max: 2, onnotice: () => {} })
    closers.push(() => sql.end({ timeout: 1 }))
    const rows = (text: string) => sql.unsafe(text) as unknown as Promise<Record<string, any>[]>
    const agentId = await prepare(replicas[0]!.url, key, outside, 5)
    const [charge] = await rows(`select id from tools where name = 'charge'`)
    const anyUrl = () => {
      const ready = replicas.filter((one) => one.url !== '')
      return ready[Math.floor(random() * ready.length)]!.url
    }
    const clients = startClients({ key, agentId, generations, everyMs: 150, anyUrl })
    closers.push(() => clients.close())
    const callers = ['a', 'b', 'c'].map((name) => startCaller(charge!['id'], name, anyUrl))
    closers.push(() => Promise.all(callers.map((one) => one.stop())))
    const sse = followFeedBySse({ key, anyUrl, types: feedTypes })
    closers.push(() => sse.close())

    const codes: (number | null)[] = []
    for (let i = 0; i < rounds * replicas.length; i++) {
      const round = Math.floor(i / replicas.length)
      // With a full dose also back: the schema stays the new one. The last rounds are of this release.
      const back = round % 2 === 1 && round < rounds - 1
      const [old, fresh] = [replicas[i % replicas.length]!, start(back ? entryBefore : entry)]
      const stopped = old.stop()
      await fresh.ready
      replicas[i % replicas.length] = fresh
      codes.push(await stopped)
    }
    await clients.ended
    await Promise.all(callers.map((one) => one.stop()))
    const calls = await rows(`select status, attempt, arguments->>'about' as about from tool_calls
      where source = 'DIRECT'`)
    const log = await rows(
      `select 1 from events where type in (${feedTypes.map((type) => `'${type}'`).join()})`,
    )
    for (const told of [clients.feed, sse.cursors]) await expect.poll(() => told.length).toBe(log.length)

    expect(codes, 'exit codes').toEqual(codes.map(() => 0))
    const unknown =
      await rows(`select id, source, runtime_name, epoch, attempts, result->'structuredContent' as said,
      started_at, settled_at from tool_calls where status = 'UNKNOWN'`)
    expect(unknown, 'calls with an unknown outcome').toEqual([])
    for (const { told } of callers)
      expect([...told].filter(([, answer]) => answer !== 'SUCCEEDED 1')).toEqual([])
    const told = callers.flatMap((one) => [...one.told.keys()])
    expect(calls).toHaveLength(told.length)
    for (const about of told) expect(outside.journal.filter((one) => one.about === about)).toHaveLength(1)
    const tally = await judge(rows, clients, outside, generations)
    expect(sse.cursors, 'the feed by SSE').toEqual(clients.feed.map((event) => event.cursor))
    const repeated = callers.reduce((sum, one) => sum + one.repeated, 0)
    const { connections } = clients
    console.log('rolling upgrade:', {
      ...tally,
      direct: told.length,
      repeated,
      connections,
      sse: sse.streams(),
    })
    expect(connections, 'the feed met restarts').toBeGreaterThan(1)
    expect(sse.streams()).toBeGreaterThan(1)
  },
)
