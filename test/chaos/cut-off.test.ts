/**
 * A replica that loses its database at the worst moments: it keeps the outcomes that it has, and does nothing without
 * a lease.
 */
import { afterEach, expect, test } from 'vitest'
import { sql } from 'drizzle-orm'
import { query } from '../../src/store/db/database.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startDatabaseProxy, type DatabaseProxy, type Fate } from '../support/database-proxy.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'

const defaultLeaseMs = 2500
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

interface CuttablePair {
  /** Its connection to the database can be cut. */
  cuttable: Harness
  /** The replica that stays connected. */
  other: Harness
  proxy: DatabaseProxy
  upstream: Loopback
  databaseUrl: string
  /** Sends the pending responses. */
  answer(): void
  /** An agent with a POST tool `pay`, a gated one `ask_first`, at this address. */
  agent(url: string): Promise<{ agentId: string; payId: string }>
}

async function openPair({
  role = 'api',
  leaseMs = defaultLeaseMs,
  lookup,
}: { role?: 'api' | 'all'; leaseMs?: number; lookup?: never } = {}): Promise<CuttablePair> {
  const made = await postgresDatabase()
  closers.push(() => made.drop())
  const proxy = await startDatabaseProxy(made.url)
  closers.push(() => proxy.close())
  const waiting: (() => void)[] = []
  const upstream = await startLoopback(
    (_request, response) =>
      void waiting.push(() =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"paid":true}'),
      ),
  )
  closers.push(() => upstream.close())
  const parts = lookup ? { egress: { lookup } } : {}
  const cuttable = await openHarness({ databaseUrl: proxy.url, leaseMs }, parts)
  closers.push(() => cuttable.stop())
  closers.push(() => {
    proxy.judge = null
    proxy.thaw()
  })
  const other = await openHarness({ databaseUrl: made.url, leaseMs, role })
  closers.push(() => other.stop())
  return {
    cuttable,
    other,
    proxy,
    upstream,
    databaseUrl: made.url,
    answer: () => waiting.splice(0).forEach((go) => go()),
    async agent(url) {
      const http = { url: `${url}/pay`, method: 'POST', inputSchema: objectSchema({}) }
      const pay = await other.mutate('createTool', { name: 'pay', config: { http } }, 'tool { id }')
      const gate = { autoApprove: false }
      const asked = await other.mutate(
        'createTool',
        { name: 'ask_first', gate, config: { http } },
        'tool { id }',
      )
      const toolIds = [pay['tool'].id, asked['tool'].id]
      const { agent } = await other.mutate('createAgent', { name: 'payer', toolIds }, 'agent { id }')
      return { agentId: agent.id, payId: pay['tool'].id }
    },
  }
}

const fields = `toolCalls { name status errorCode attempt approval { status } }
  events(first: 100) { nodes { type ... on ToolCallSettledEvent { name } } }`

async function begin(pair: CuttablePair, prompt: string, url = pair.upstream.url): Promise<string> {
  const { agentId } = await pair.agent(url)
  const { generation } = await pair.cuttable.mutate(
    'startGeneration',
    { agentId, prompt },
    'generation { id }',
  )
  return generation.id
}

const settledOf = (end: Record<string, any>) =>
  end['events'].nodes
    .filter((event: { type: string }) => event.type === 'TOOL_CALL_SETTLED')
    .map((event: { name: string }) => event.name)

test.runIf(hasPostgres)(
  'an executed call is SUCCEEDED when its database is reachable again, and calls that wait for a person still wait',
  { timeout: 180_000 },
  async () => {
    const pair = await openPair()
    const id = await begin(pair, 'call pay {}\ncall ask_first {}\nthen\nsay done')
    await pair.upstream.nextRequest()
    // BEGIN, COMMIT and every other statement fail for a while, and every connection is cut.
    pair.proxy.judge = () => 'cutBefore'
    pair.proxy.cut()
    pair.answer()
    await new Promise((resolve) => setTimeout(resolve, defaultLeaseMs * 0.4))
    pair.proxy.judge = null
    const waiting = await pair.other.until(id, ['AWAITING_APPROVAL', 'FAILED'], fields)
    await expect
      .poll(async () => (await pair.other.until(id, ['AWAITING_APPROVAL'], fields))['toolCalls'], {
        timeout: 90_000,
      })
      .toEqual([
        { name: 'pay', status: 'SUCCEEDED', errorCode: null, attempt: 1, approval: null },
        {
          name: 'ask_first',
          status: 'AWAITING_APPROVAL',
          errorCode: null,
          attempt: 0,
          approval: { status: 'PENDING' },
        },
      ])
    expect(waiting['status']).toBe('AWAITING_APPROVAL')
    expect(pair.upstream.seen).toHaveLength(1)
  },
)

test.runIf(hasPostgres).each<[string, Fate[]]>([
  ['whose answer is lost', ['cutAfter']],
  ['that is lost', ['cutBefore']],
  ['whose answer is lost three times', ['cutAfter', 'cutAfter', 'cutAfter']],
  ['that comes late and is repeated', [{ delayMs: 600 }, 'cutAfter']],
])('an outcome is written once by a commit %s', { timeout: 180_000 }, async (_what, fates) => {
  const pair = await openPair()
  const id = await begin(pair, 'call pay {}\nthen\nsay done')
  await pair.upstream.nextRequest()
  const left = [...fates]
  const hit: string[] = []
  pair.proxy.judge = ({ text }) => {
    // The commit of an outcome, the read that checks it, and the reclaim.
    const fate = /^\s*(with g as \(update generations|update generations set epoch)/i.test(text)
      ? left.shift()
      : 'pass'
    if (fate && fate !== 'pass') hit.push(text)
    return fate ?? 'pass'
  }
  pair.answer()
  const end = await pair.other.until(id, ['COMPLETED', 'FAILED'], fields)
  expect(hit.length).toBe(fates.length)
  expect(end).toMatchObject({ status: 'COMPLETED', toolCalls: [{ status: 'SUCCEEDED', attempt: 1 }] })
  expect(settledOf(end), 'told once').toEqual(['pay'])
  expect(pair.upstream.seen).toHaveLength(1)
})

test.runIf(hasPostgres)(
  'the outcome of a direct call is written once, whatever becomes of the answers',
  { timeout: 180_000 },
  async () => {
    const pair = await openPair()
    const { payId } = await pair.agent(pair.upstream.url)
    const left: Fate[] = ['cutAfter', 'cutBefore', 'cutAfter']
    pair.proxy.judge = ({ text }) =>
      /^\s*with (g as \((update tool_calls|insert into "?tool_calls"?)|o as \(select t\.id)/i.test(text)
        ? (left.shift() ?? 'pass')
        : 'pass'
    const called = pair.cuttable.mutate(
      'callTool',
      { toolId: payId, arguments: {} },
      'toolCall { id status attempt }',
    )
    await pair.upstream.nextRequest()
    pair.answer()
    expect((await called)['toolCall']).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
    expect(left).toEqual([])
    expect(pair.upstream.seen).toHaveLength(1)
    const told = await query<{ type: string }>(
      pair.other.app.services.db,
      sql`select type from events where type like 'TOOL_CALL%' order by id`,
    )
    expect(told.map((event) => event.type)).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_SETTLED'])
  },
)

test.runIf(hasPostgres)(
  'a process that was paused between the commit and the request sends nothing after another has reported the call as UNKNOWN',
  { timeout: 180_000 },
  async () => {
    let resolveName = () => {}
    let asked = () => {}
    const looking = new Promise<void>((resolve) => (asked = resolve))
    const lookup = () =>
      new Promise((resolve) => {
        asked()
        resolveName = () => resolve(['127.0.0.1'])
      })
    const pair = await openPair({ role: 'all', lookup: lookup as never })
    // Only the replica that will be paused works at first.
    pair.other.app.workers!.drain()
    const id = await begin(pair, 'call pay {}\nthen\nsay went on', `http://slow.test:${pair.upstream.port}`)
    await looking
    pair.proxy.freeze()
    const successor = await openHarness({ databaseUrl: pair.databaseUrl, leaseMs: defaultLeaseMs })
    closers.push(() => successor.stop())
    const end = await successor.until(id, ['COMPLETED', 'FAILED'], fields)
    expect(end).toMatchObject({ toolCalls: [{ status: 'UNKNOWN' }], output: { text: 'went on' } })
    resolveName()
    pair.proxy.thaw()
    await expect
      .poll(async () => (await successor.until(id, ['COMPLETED'], fields))['toolCalls'])
      .toMatchObject([{ status: 'ERRORED', errorCode: 'not_sent', attempt: 1 }])
    expect(pair.upstream.seen, 'nothing was sent').toEqual([])
  },
)

test.runIf(hasPostgres).each<[string, RegExp, string]>([
  ["a model's answer", /^\s*with g as \(update generations set step_count/i, 'call ask_first {}'],
  [
    'its last call',
    /^\s*select 1 from generations where id = \$1 and epoch/i,
    'call pay {}\ncall ask_first {}',
  ],
])(
  'a cancel that comes while the pause after %s is written ends the run',
  { timeout: 180_000 },
  async (_what, pause, calls) => {
    const pair = await openPair()
    let reached = () => {}
    const pausing = new Promise<void>((resolve) => (reached = resolve))
    pair.proxy.judge = ({ text }) => {
      if (!pause.test(text)) return 'pass'
      pair.proxy.judge = null
      reached()
      return 'freeze'
    }
    const id = await begin(pair, `${calls}\nthen\nsay done`)
    if (calls.includes('pay')) {
      await pair.upstream.nextRequest()
      pair.answer()
    }
    await pausing
    const asked = await pair.other.mutate('cancelGeneration', { generationId: id }, 'generation { status }')
    expect(asked['generation'].status).toBe('RUNNING')
    pair.proxy.thaw()
    const status = async () => (await pair.other.until(id, ['CANCELLED', 'AWAITING_APPROVAL']))['status']
    await expect.poll(status).toBe('CANCELLED')
  },
)

test.runIf(hasPostgres)('readiness responds, whatever the database does', async () => {
  const pair = await openPair()
  const ready = async () => (await fetch(`${pair.cuttable.url}/readyz`)).status
  expect(await ready()).toBe(200)
  pair.proxy.freeze()
  const busy = Array.from({ length: 40 }, () => pair.cuttable.gql('{ agents(first: 1) { nodes { id } } }'))
  // The database answers nothing before it is thawed.
  expect(await ready()).toBe(503)
  pair.proxy.thaw()
  await expect.poll(ready).toBe(200)
  for (const { errors } of await Promise.all(busy))
    for (const error of errors ?? []) expect(error.extensions!['code']).toBe('UNAVAILABLE')
})

test.runIf(hasPostgres)(
  'a call that was certainly not sent is not left UNKNOWN, however long the database was unreachable',
  { timeout: 180_000 },
  async () => {
    const leaseMs = 600
    let resolveName = () => {}
    let asked = () => {}
    const looking = new Promise<void>((resolve) => (asked = resolve))
    const lookup = () =>
      new Promise((resolve) => {
        asked()
        resolveName = () => resolve(['127.0.0.1'])
      })
    const pair = await openPair({ leaseMs, lookup: lookup as never })
    const { port } = new URL(pair.upstream.url)
    const id = await begin(pair, 'call pay {}\nthen\nsay done', `http://upstream.test:${port}`)
    await looking
    pair.proxy.judge = () => 'cutBefore'
    pair.proxy.cut()
    await new Promise((resolve) => setTimeout(resolve, leaseMs * 1.2))
    resolveName()
    // Longer than another worker would need: there is none, and this one cannot read.
    await new Promise((resolve) => setTimeout(resolve, leaseMs * 12))
    pair.proxy.judge = null
    const read = async () => (await pair.other.until(id, ['COMPLETED'], fields))['toolCalls']
    await expect
      .poll(read)
      .toEqual([{ name: 'pay', status: 'ERRORED', errorCode: 'not_sent', attempt: 1, approval: null }])
    expect(pair.upstream.seen).toHaveLength(0)
  },
)
