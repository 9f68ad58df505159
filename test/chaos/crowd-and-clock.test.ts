/**
 * One replica of two is killed while a crowd of direct calls shares its statements, and one whose clock is set back by an
 * hour while it works: no call runs twice, each has an outcome, and deadlines are those of the database.
 */
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { shiftedClock } from '../support/shifted-clock.ts'

const key = 'gh_crowd_operator_0123456789012345678901234567890123456'
describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  const closers: (() => unknown)[] = []
  const running: Replica[] = []
  /** Requests by path. */
  const requests = new Map<string, number>()
  /** Answers what has arrived, and from then on everything at once; null: it does so already. */
  let release: (() => void) | null
  let released: Promise<void>
  let upstream: Loopback
  let settings: Record<string, string>
  let entry: string
  let db: postgres.Sql

  const hold = () => {
    released = new Promise((resolve) => (release = resolve))
  }
  beforeAll(async () => {
    entry = (await buildServer()).entry
    upstream = await startLoopback(async ({ url }, response) => {
      requests.set(url, (requests.get(url) ?? 0) + 1)
      await released
      response.writeHead(200).end('done')
    })
    closers.push(() => upstream.close())
    const clock = await shiftedClock()
    closers.push(() => clock.remove())
    const database = await postgresDatabase()
    closers.push(() => database.drop())
    db = postgres(database.url, { max: 1, onnotice: () => {} })
    closers.push(() => db.end({ timeout: 1 }))
    settings = {
      DATABASE_URL: database.url,
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_LEASE_MS: '1500',
      GATEHOUSE_EGRESS_ALLOW: upstream.address,
      GATEHOUSE_LOG_LEVEL: 'error',
      ...clock.off(0),
    }
  })
  afterEach(() => Promise.all(running.splice(0).map((replica) => replica.kill())))
  afterAll(async () => {
    release?.()
    for (const close of closers.toReversed()) await close()
  })

  async function start(): Promise<Replica> {
    const replica = startReplica(entry, settings)
    running.push(replica)
    await replica.ready
    return replica
  }

  async function tool(url: string, name: string, more: object = {}): Promise<string> {
    const inputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const http = { url: `${upstream.url}/${name}/{n}`, method: 'POST', inputSchema }
    const made = await mutate(url, key, 'createTool', { name, config: { http }, ...more }, 'tool { id }')
    return made['tool'].id
  }

  test('a replica that is killed in a crowd of calls: each has one outcome, which is true, and none runs twice', async () => {
    hold()
    const first = await start()
    const toolId = await tool(first.url, 'pay')
    const call = async (url: string, n: number) => {
      const input = { toolId, arguments: { n }, idempotencyKey: `crowd-${n}` }
      const { toolCall } = await mutate(url, key, 'callTool', input, 'toolCall { status errorCode }')
      return String(toolCall.errorCode ?? toolCall.status)
    }
    const crowd = Array.from({ length: 96 }, (_, n) => n)
    const cut = Promise.all(crowd.map((n) => call(first.url, n).catch(() => 'gone')))
    const sent = () => crowd.filter((n) => requests.has(`/pay/${n}`)).length
    await expect.poll(sent).toBeGreaterThan(20)
    const second = await start()
    await first.kill()
    // A machine that is too busy for so short a lease sends some of them not at all, and says so.
    const told = await cut
    expect(['gone', 'not_sent']).toEqual(expect.arrayContaining([...new Set(told)]))
    release!()
    const outcomes = await Promise.all(crowd.map((n) => call(second.url, n)))
    const statuses: Record<string, string> = {
      SUCCEEDED: 'SUCCEEDED',
      outcome_unknown: 'UNKNOWN',
      not_sent: 'ERRORED',
    }
    for (const n of crowd) {
      expect(Object.keys(statuses)).toContain(outcomes[n])
      const times = requests.get(`/pay/${n}`) ?? 0
      expect(times).toBeLessThanOrEqual([told[n], outcomes[n]].includes('not_sent') ? 0 : 1)
      if (outcomes[n] === 'SUCCEEDED') expect(times).toBe(1)
    }
    const rows = await db`select status from tool_calls`
    expect(rows.map(({ status }) => status).toSorted()).toEqual(
      outcomes.map((outcome) => statuses[outcome]!).toSorted(),
    )
  })

  test('a clock that is set back by an hour: leases are renewed, calls run once, questions expire in time', async () => {
    hold()
    const shifted = await start()
    const slowId = await tool(shifted.url, 'slow')
    const slow = mutate(
      shifted.url,
      key,
      'callTool',
      { toolId: slowId, arguments: { n: 1 } },
      'toolCall { id status attempts { outcome } }',
    )
    await expect.poll(() => requests.get('/slow/1')).toBe(1)
    process.kill(shifted.pid, 'SIGUSR2')
    // One with the right time beside it takes over whatever is not renewed.
    await start()
    const leases = new Set<string>()
    await expect
      .poll(async () => {
        const [row] = await db`select wake_at::text as at from tool_calls where tool_id = ${slowId}`
        return leases.add(row!['at']).size
      })
      .toBeGreaterThan(5)
    release!()
    expect((await slow)['toolCall']).toMatchObject({
      status: 'SUCCEEDED',
      attempts: [{ outcome: 'SUCCEEDED' }],
    })
    expect(requests.get('/slow/1')).toBe(1)

    const gate = { mode: 'ALWAYS', timeoutSeconds: 5 }
    const gatedId = await tool(shifted.url, 'gated', { gate })
    const askGated = (n: number) =>
      mutate(
        shifted.url,
        key,
        'callTool',
        { toolId: gatedId, arguments: { n } },
        'toolCall { id approval { id expiresAt } }',
      )
    const [late, approved] = [(await askGated(1))['toolCall'], (await askGated(2))['toolCall']]
    const verdict = { approvalId: approved.approval.id, verdict: 'APPROVE' }
    expect(await mutate(shifted.url, key, 'decideApproval', verdict, 'approval { status }')).toMatchObject({
      approval: { status: 'APPROVED' },
    })
    const statusOf = async (id: string) => {
      const { data } = await ask(shifted.url, key, `{ toolCall(id: "${id}") { status approval { status } } }`)
      return data['toolCall']
    }
    await expect.poll(async () => (await statusOf(approved.id)).status).toBe('SUCCEEDED')
    await expect.poll(async () => (await statusOf(late.id)).approval.status).toBe('EXPIRED')
    expect([requests.get('/gated/1') ?? 0, requests.get('/gated/2')]).toEqual([0, 1])
  })
})
