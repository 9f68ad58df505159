/**
 * A primary dies while its asynchronous standby lags behind, and the standby is promoted: what was committed last is
 * lost, and its ids and epochs are given out again.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { hasClusters, startCluster, type Cluster } from '../support/cluster.ts'
import { sql } from 'drizzle-orm'
import { query } from '../../src/store/db/database.ts'
import { dose } from '../support/dose.ts'
import { followFeed, type FeedReader } from '../support/feed-readers.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { openReceiver, type Receiver } from '../support/webhook-receiver.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()

const leaseMs = 2000
const lostAgents = dose(20, 400)
const closers: (() => unknown)[] = []
let primary: Cluster
let standby: Cluster
let replicas: Harness[]
let receiver: Receiver
let upstream: Loopback
let feed: FeedReader
/** Answers the requests of the tool that are open. */
const open: (() => void)[] = []
let agentId: string
let toolId: string

const any = () => replicas[Math.floor(random() * replicas.length)]!
const createAgent = (name: string) => any().mutate('createAgent', { name }, 'agent { id }')
const rows = <Row>(text: string) => query<Row>(replicas[0]!.app.services.db, sql.raw(text))

async function startRun(): Promise<string> {
  const call = 'call pay {}'
  const input = { agentId, prompt: `${call}\nthen\n${call}\nthen\nsay done` }
  return (await any().mutate('startGeneration', input, 'generation { id }'))['generation'].id
}

beforeAll(async () => {
  if (!hasClusters) return
  primary = await startCluster()
  closers.push(() => primary.remove())
  standby = await primary.startStandby()
  closers.push(() => standby.remove())
  const port = (cluster: Cluster) => new URL(cluster.url).port
  const databaseUrl = `postgres://postgres@127.0.0.1:${port(primary)},127.0.0.1:${port(standby)}/postgres`
  replicas = []
  for (let i = 0; i < 2; i++) {
    const replica = await openHarness({ databaseUrl, leaseMs })
    closers.push(() => replica.stop())
    replicas.push(replica)
  }
  receiver = await openReceiver()
  closers.push(() => receiver.close())
  upstream = await startLoopback((_request, response) => {
    open.push(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{"paid":true}'))
  })
  closers.push(() => upstream.close())
  const config = { http: { url: upstream.url, method: 'POST', inputSchema: objectSchema({}) } }
  toolId = (await any().mutate('createTool', { name: 'pay', config }, 'tool { id }'))['tool'].id
  agentId = (await any().mutate('createAgent', { name: 'payer', toolIds: [toolId] }, 'agent { id }'))['agent']
    .id
  await any().mutate('createWebhook', { url: receiver.url, types: ['AGENT_CREATED'] }, 'webhook { id }')
}, 360_000)
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

/** Resolves when the standby has applied all that is committed. */
const standbyIsCurrent = () =>
  vi.waitUntil(
    async () =>
      (
        await rows<{ same: boolean }>(
          'select bool_and(replay_lsn >= pg_current_wal_lsn()) as same from pg_stat_replication',
        )
      )[0]?.same,
    { timeout: 90_000 },
  )

describe.skipIf(!hasClusters)('after a failover that lost what was committed last', () => {
  let run: string
  let before: string | null
  beforeAll(async () => {
    for (let i = 0; i < 5; i++) await createAgent(`kept ${i}`)
    run = await startRun()
    await vi.waitUntil(() => open.length === 1, { timeout: 90_000 })
    await receiver.until((received) => received.length === 5)
    feed = followFeed({ url: replicas[1]!.url, key: adminKey, after: '0', onError: () => null })
    closers.push(() => feed.close())
    before = (await rows<{ name: string }>('select incarnation as name from installation'))[0]!.name
    await standbyIsCurrent()
    await primary.holdReplication()
    // In the future that is lost, the first call of the run is settled and its second one is sent.
    open.shift()!()
    await vi.waitUntil(() => open.length === 1, { timeout: 90_000 })
    for (let i = 0; i < lostAgents; i++) await createAgent(`lost ${i}`)
    await receiver.until((received) => received.length === 5 + lostAgents)
    const newest = await rows<{ n: number }>('select count(*)::int as n from events')
    await feed.until(newest[0]!.n)
    await primary.kill9()
    await standby.promote()
    await vi.waitUntil(async () => (await createAgent('first after').catch(() => null))?.['agent'], {
      timeout: 90_000,
    })
    open.shift()!()
    for (let i = 0; i < lostAgents; i++) await createAgent(`new ${i}`)
  }, 360_000)

  test('one incarnation begins, for all replicas, without a restart', async () => {
    const [log] = await rows<{ name: string; earlier: { name: string }[]; fingerprint: string }>(
      'select incarnation as name, earlier, fingerprint from installation',
    )
    expect(log!.earlier.map(({ name }) => name)).toEqual([before])
    expect(log!.name).not.toBe(before)
    expect(log!.fingerprint).toMatch(/\/2$/)
  })

  test('an open subscriber gets CURSOR_EXPIRED', async () => {
    await expect.poll(() => feed.errors.length).toBeGreaterThan(0)
    expect(feed.errors.at(-1)!.extensions).toMatchObject({ code: 'CURSOR_EXPIRED' })
  })

  test('no webhook id is given to two events, and an event keeps its id', async () => {
    await receiver.until(
      (received) => received.filter(({ raw }) => raw.includes('"new ')).length >= lostAgents,
    )
    const bodies = new Map<string, string>()
    for (const { id, data } of receiver.received) {
      const event = String(data['name'] ?? data['agentId'])
      expect(bodies.get(id) ?? event).toBe(event)
      bodies.set(id, event)
    }
    const ids = new Map([...bodies].map(([id, event]) => [event, id]))
    expect(ids.size).toBe(bodies.size)
  })

  test('nobody writes an outcome of a call that the rows do not have', async () => {
    const pay = () => open.splice(0).forEach((answer) => answer())
    const poll = setInterval(pay, 50)
    const ended = await replicas[0]!.until(run, ['COMPLETED', 'FAILED']).finally(() => clearInterval(poll))
    expect(ended['status']).toBe('COMPLETED')
    const told = await rows<{ type: string; id: string }>(
      `select type, data->>'toolCallId' as id from events where generation_id = '${run}' and data ? 'toolCallId'
       order by seq`,
    )
    const calls = await rows<{ id: string; status: string; epoch: number }>(
      `select id, status from tool_calls where generation_id = '${run}' order by step_index`,
    )
    expect(new Set(told.map(({ id }) => id))).toEqual(new Set(calls.map(({ id }) => id)))
    for (const { id } of calls) expect(told.find((one) => one.id === id)!.type).toBe('TOOL_CALL_PROPOSED')
    // The first call's outcome was lost with its row: it is not known, and it is not sent again.
    expect(calls.map(({ status }) => status)).toEqual(['UNKNOWN', 'SUCCEEDED'])
  })
})
