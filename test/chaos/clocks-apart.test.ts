/**
 * Two replicas on one database, the clock of one an hour behind and that of the other an hour ahead: what ends, begins or
 * holds by a time does so by the clock of the database on both, as if their own were right.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { openTab } from '../support/cookie-jar.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { followFeed } from '../support/feed-readers.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { shiftedClock } from '../support/shifted-clock.ts'
import { openReceiver } from '../support/webhook-receiver.ts'
import { sendForm } from '../support/link-fixtures.ts'

const key = 'gh_clocks_operator_012345678901234567890123456789012345'
const hourMs = 3_600_000

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  const closers: (() => unknown)[] = []
  /** Requests by path. */
  const requests = new Map<string, number>()
  let upstream: Loopback
  /** What a held request waits for. */
  let held: Promise<void> = Promise.resolve()
  let db: postgres.Sql
  let behind: Replica
  let ahead: Replica
  const both = () => [behind, ahead] as const
  const turns = () => [
    { here: behind, there: ahead },
    { here: ahead, there: behind },
  ]

  beforeAll(async () => {
    const { entry } = await buildServer()
    upstream = await startLoopback(async ({ url }, response) => {
      requests.set(url, (requests.get(url) ?? 0) + 1)
      await held
      response.writeHead(200).end('done')
    })
    closers.push(() => upstream.close())
    const clock = await shiftedClock()
    closers.push(() => clock.remove())
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-clocks-'))
    closers.push(() => rm(folder, { recursive: true, force: true }))
    const database = await postgresDatabase()
    closers.push(() => database.drop())
    db = postgres(database.url, { max: 1, onnotice: () => {} })
    closers.push(() => db.end({ timeout: 1 }))
    const start = async (shiftMs: number) => {
      const replica = startReplica(entry, {
        DATABASE_URL: database.url,
        GATEHOUSE_PORT: '0',
        GATEHOUSE_DEMO: 'false',
        GATEHOUSE_ADMIN_KEY: key,
        GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
        GATEHOUSE_BLOB_DIR: folder,
        GATEHOUSE_LEASE_MS: '1500',
        GATEHOUSE_EGRESS_ALLOW_PRIVATE: 'true',
        GATEHOUSE_LOG_LEVEL: 'error',
        ...clock.off(shiftMs),
      })
      closers.push(() => replica.kill())
      await replica.ready
      return replica
    }
    behind = await start(-hourMs)
    ahead = await start(hourMs)
  })
  afterAll(async () => {
    for (const close of closers.toReversed()) await close()
  })

  async function tool(name: string, more: object = {}): Promise<string> {
    const inputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const http = { url: `${upstream.url}/${name}/{n}`, method: 'POST', inputSchema }
    return (await mutate(behind.url, key, 'createTool', { name, config: { http }, ...more }, 'tool { id }'))[
      'tool'
    ].id
  }
  const call = async ({ url }: Replica, toolId: string, n: number, more: object = {}) =>
    (
      await mutate(
        url,
        key,
        'callTool',
        { toolId, arguments: { n }, ...more },
        'toolCall { id status attempts { outcome startedAt endedAt } approval { id } }',
      )
    )['toolCall']
  /** Now, by the clock of the database. */
  const now = async () =>
    Number((await db`select extract(epoch from clock_timestamp()) * 1000 as ms`)[0]!['ms'])

  test('a question of five minutes is open on both, and one that is over is over on both', async () => {
    const toolId = await tool('gated', { gate: { mode: 'ALWAYS', timeoutSeconds: 300 } })
    const fields = 'status viewerCanDecide { may why } claim { byName }'
    const read = async ({ url }: Replica, id: string) =>
      (await ask(url, key, `{ approval(id: "${id}") { ${fields} } }`)).data['approval']
    for (const [n, { here, there }] of turns().entries()) {
      const asked = await call(here, toolId, n)
      const approvalId = asked.approval.id
      await mutate(there.url, key, 'claimApproval', { approvalId }, 'approval { id }')
      for (const replica of both())
        expect(await read(replica, approvalId)).toMatchObject({
          status: 'PENDING',
          viewerCanDecide: { may: true, why: null },
          claim: { byName: expect.any(String) },
        })
      await mutate(
        there.url,
        key,
        'decideApproval',
        { approvalId, verdict: 'APPROVE' },
        'approval { status }',
      )
      await expect.poll(() => requests.get(`/gated/${n}`)).toBe(1)
    }
    const over = (await call(behind, toolId, 7)).approval.id as string
    await db`update approvals set expires_at = clock_timestamp() where id = ${over}`
    for (const { url } of both())
      await expect(
        mutate(url, key, 'decideApproval', { approvalId: over, verdict: 'APPROVE' }, 'approval { status }'),
      ).rejects.toThrow('APPROVAL_EXPIRED')
    expect(requests.get('/gated/7')).toBeUndefined()
  })

  test('a call that takes longer than its lease runs once, in its own time, and a repeat joins it', async () => {
    const toolId = await tool('slow')
    for (const [n, { here, there }] of turns().entries()) {
      let release!: () => void
      held = new Promise((resolve) => (release = resolve))
      const idempotencyKey = `slow-${n}`
      const before = await now()
      const first = call(here, toolId, n, { idempotencyKey })
      await expect.poll(() => requests.get(`/slow/${n}`)).toBe(1)
      const again = call(there, toolId, n, { idempotencyKey })
      const leases = new Set<string>()
      await expect
        .poll(async () => {
          const [row] = await db`select wake_at::text as at from tool_calls
            where tool_id = ${toolId} and status = 'EXECUTING'`
          return leases.add(row!['at']).size
        })
        .toBeGreaterThan(5)
      release()
      const [one, other] = await Promise.all([first, again])
      expect(one).toMatchObject({ status: 'SUCCEEDED', attempts: [{ outcome: 'SUCCEEDED' }] })
      expect(other.id).toBe(one.id)
      expect(requests.get(`/slow/${n}`)).toBe(1)
      const [{ startedAt, endedAt }] = one.attempts
      const times = [before, Date.parse(startedAt), Date.parse(endedAt), await now()].map(Math.floor)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
    }
  })

  test('a tick starts one run, and a signed message is of its time on both', async () => {
    const agent = { name: 'ticks', model: 'builtin/rehearsal', toolIds: [] }
    const agentId = (await mutate(behind.url, key, 'createAgent', agent, 'agent { id }'))['agent'].id
    const cron = { agentId, name: 'nightly', prompt: 'say done', cron: '0 3 * * *' }
    const { trigger } = await mutate(ahead.url, key, 'createTrigger', cron, 'trigger { id nextTimes }')
    const [next] = trigger.nextTimes.map((at: string) => Date.parse(at))
    expect(next).toBeGreaterThan(await now())
    expect(next).toBeLessThanOrEqual((await now()) + 24 * hourMs)
    for (let n = 1; n <= 3; n++) {
      await db`update triggers set next_at = now(), wake_at = now() where id = ${trigger.id}`
      await expect
        .poll(
          async () =>
            (
              await db`select from triggers where id = ${trigger.id} and wake_at > now() + interval '1 minute'`
            ).length,
        )
        .toBe(1)
      expect(await db`select from generations where agent_id = ${agentId}`).toHaveLength(n)
    }
    const hook = { agentId, name: 'orders', prompt: 'say {id}' }
    const {
      secret,
      trigger: { id },
    } = await mutate(behind.url, key, 'createTrigger', hook, 'secret trigger { id }')
    for (const { url } of both()) {
      const [messageId, body, seconds] = [
        randomUUID(),
        '{"id":"A"}',
        String(Math.floor((await now()) / 1000)),
      ]
      const mac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      const signature = mac.update(`${messageId}.${seconds}.${body}`).digest('base64')
      const headers = {
        'webhook-id': messageId,
        'webhook-timestamp': seconds,
        'webhook-signature': `v1,${signature}`,
      }
      expect((await fetch(`${url}/hooks/${id}`, { method: 'POST', body, headers })).status).toBe(202)
    }
  })

  test('who follows the feed of either gets every event of both, in one order', async () => {
    const readers = both().map(({ url }) => followFeed({ url, key, types: ['TOOL_CALL_SETTLED'] }))
    closers.push(() => Promise.all(readers.map((reader) => reader.close())))
    const toolId = await tool('told')
    // A subscription has begun when it has told of something.
    let n = 0
    for (const reader of readers)
      while (reader.told.length === 0) await call(n % 2 ? ahead : behind, toolId, n++)
    await Promise.all(Array.from({ length: 12 }, (_, i) => call(both()[i % 2]!, toolId, n + i)))
    const [row] = await db`select count(*)::int as n from events where type = 'TOOL_CALL_SETTLED'`
    const replays = both().map(({ url }) =>
      followFeed({ url, key, after: '0', types: ['TOOL_CALL_SETTLED'] }),
    )
    closers.push(() => Promise.all(replays.map((reader) => reader.close())))
    await Promise.all(replays.map((reader) => reader.until(row!['n'])))
    const [all, others] = replays.map(({ told }) => told.map(({ cursor }) => cursor))
    expect(new Set(all).size).toBe(row!['n'])
    expect(others).toEqual(all)
    for (const reader of readers) {
      await expect.poll(() => reader.told.at(-1)?.cursor).toBe(all!.at(-1))
      const live = reader.told.filter(({ type }) => type !== 'STREAM_STARTED').map(({ cursor }) => cursor)
      expect(live.length).toBeGreaterThanOrEqual(12)
      expect(live).toEqual(all!.slice(-live.length))
    }
  })

  test('links, sessions and keys of one hold on the other, and none outlives its end', async () => {
    for (const { here, there } of turns()) {
      const announced = { filename: 'a.txt', contentType: 'text/plain' }
      const made = await mutate(here.url, key, 'presignUpload', announced, 'uploadUrl file { id }')
      const elsewhere = (link: string) => link.replace(here.url, there.url)
      expect(
        (
          await fetch(elsewhere(made['uploadUrl']), {
            method: 'PUT',
            body: 'olá',
            headers: { 'content-type': 'text/plain' },
          })
        ).status,
      ).toBe(201)
      const { data } = await ask(here.url, key, `{ file(id: "${made['file'].id}") { downloadUrl } }`)
      const got = await fetch(elsewhere(data['file'].downloadUrl))
      expect([got.status, await got.text()]).toEqual([200, 'olá'])

      const expiresAt = new Date((await now()) + 60_000).toISOString()
      const short = await mutate(
        here.url,
        key,
        'createApiKey',
        { name: 'short', role: 'VIEWER', expiresAt },
        'secret apiKey { id }',
      )
      const tab = openTab(here.url)
      expect(await tab.signIn(short['secret'])).toBe(201)
      const viewer = '{ viewer { name } }'
      for (const { url } of both()) {
        expect((await ask(url, short['secret'], viewer)).data).toEqual({ viewer: { name: 'short' } })
        expect((await openTab(url, tab.cookies).gql(viewer)).data).toEqual({ viewer: { name: 'short' } })
      }
      await db`update api_keys set expires_at = clock_timestamp() where id = ${short['apiKey'].id}`
      for (const { url } of both())
        await expect
          .poll(async () => (await ask(url, short['secret'], viewer)).errors?.[0]?.extensions?.['code'])
          .toBe('UNAUTHENTICATED')
    }
  })

  test('retention removes what is a day old by the clock of the database, whichever sweeps', async () => {
    const toolId = await tool('kept')
    await mutate(behind.url, key, 'setRetention', { runDays: 1 }, 'retention { version }')
    // What is swept is noted when it is over, and a sweep under way would overwrite the time that this test sets.
    const isOver = () =>
      expect
        .poll(async () => db`select from retentions where wake_at > clock_timestamp() + interval '1 minute'`)
        .toHaveLength(1)
    await isOver()
    for (const [n, { here, there }] of turns().entries()) {
      const [young, old] = [await call(here, toolId, 2 * n), await call(here, toolId, 2 * n + 1)]
      const age = (id: string, minutes: number) =>
        db`update tool_calls set settled_at = clock_timestamp() - ${minutes} * interval '1 minute',
          created_at = clock_timestamp() - interval '2 days' where id = ${id}`
      // Each of the two would be judged otherwise an hour earlier or later.
      await age(young.id, 24 * 60 - 30)
      await age(old.id, 24 * 60 + 30)
      there.freeze()
      try {
        await db`update retentions set wake_at = clock_timestamp()`
        await expect
          .poll(async () => db`select id from tool_calls where id in ${db([young.id, old.id])}`)
          .toEqual([{ id: young.id }])
        await isOver()
      } finally {
        there.thaw()
      }
      expect(await db`select id from tool_calls where id = ${young.id}`).toHaveLength(1)
    }
  })

  test('a link with a code lasts as long as its question, on both', async () => {
    const receiver = await openReceiver()
    closers.push(() => receiver.close())
    const types = ['APPROVAL_REQUESTED']
    const made = await mutate(
      ahead.url,
      key,
      'createWebhook',
      { url: receiver.url, types },
      'secret webhook { id }',
    )
    receiver.secret = made['secret']
    const webhookId = made['webhook'].id
    const person = await mutate(
      behind.url,
      key,
      'createApiKey',
      { name: 'ada', role: 'APPROVER' },
      'apiKey { id }',
    )
    const recipients = [{ principalId: person['apiKey'].id, address: 'ada@example.com' }]
    await mutate(behind.url, key, 'setWebhookRecipients', { webhookId, recipients }, 'webhook { id }')
    const gate = { autoApprove: false, verdictLinks: true, timeoutSeconds: 300 }
    const toolId = await tool('linked', { gate })
    const open = async (replica: Replica, n: number) => {
      const { id } = (await call(replica, toolId, n)).approval
      const of = ({ data }: { data: any }) => data.approvalId === id && data.verdictLinks
      await receiver.until((all) => all.some(of))
      const [{ url, code }] = receiver.received.find(of)!.data['verdictLinks']
      return { id: id as string, url: new URL(url).pathname, code: code as string }
    }
    const press = async (replica: Replica, { url, code }: { url: string; code: string }) =>
      (await sendForm(`${replica.url}${url}`, { code, verdict: 'APPROVE' })).status
    for (const [n, { here, there }] of turns().entries()) {
      const one = await open(here, n)
      expect(await press(there, one)).toBe(200)
      await expect.poll(() => requests.get(`/linked/${n}`)).toBe(1)
      const over = await open(here, n + 2)
      await db`update approvals set expires_at = clock_timestamp() where id = ${over.id}`
      expect(await press(there, over)).not.toBe(200)
      expect(requests.get(`/linked/${n + 2}`)).toBeUndefined()
    }
  })

  test('a rate is one for both, and what it refuses may come when it said', async () => {
    const toolId = await tool('rare')
    // An hour between the clocks would refill it sixty times.
    const rate = { scope: 'TOOL', targetId: toolId, perMinute: 1, burst: 2 }
    await mutate(behind.url, key, 'setRateLimit', rate, 'rateLimit { burst }')
    const tried = async ({ url }: Replica, n: number): Promise<string | number> => {
      const document = `mutation($input: CallToolInput!) { callTool(input: $input) { __typename
        ... on LimitReachedError { retryAfterMs } } }`
      const { data } = await ask(url, key, document, { input: { toolId, arguments: { n } } })
      return data['callTool'].retryAfterMs ?? data['callTool'].__typename
    }
    const answers: (string | number)[] = []
    for (let n = 0; n < 3; n++) for (const replica of both()) answers.push(await tried(replica, n))
    expect(answers.filter((answer) => answer === 'ToolCallPayload')).toHaveLength(2)
    for (const wait of answers.slice(2)) {
      expect(wait).toBeGreaterThan(0)
      expect(wait).toBeLessThanOrEqual(60_000)
    }
  })

  test('what either sends is signed in its time', async () => {
    const receiver = await openReceiver()
    closers.push(() => receiver.close())
    const made = await mutate(
      behind.url,
      key,
      'createWebhook',
      { url: receiver.url, types: ['TOOL_CALL_SETTLED'] },
      'secret webhook { id }',
    )
    receiver.secret = made['secret']
    for (const { url } of both())
      expect(
        (await mutate(url, key, 'testWebhook', { webhookId: made['webhook'].id }, 'answer { status error }'))[
          'answer'
        ],
      ).toMatchObject({ status: 204 })
    expect(receiver.refused).toEqual([])
  })
})
