/** Webhooks as a receiver sees them: signed, retried, never lost. */
import { sql } from 'drizzle-orm'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { accept, openReceiver, passTime, type Receiver } from '../../support/webhook-receiver.ts'

let h: Harness
let receiver: Receiver

beforeEach(async () => {
  receiver = await openReceiver()
  h = await openHarness({ webhookTimeoutMs: 4000 })
})
afterEach(async () => {
  await h.stop()
  await receiver.close()
})

const fields =
  'webhook { id status disabledReason failingSince deliveredCount pendingCount deliveries { nodes { id status attempts answers { status error body } } } }'

/** Creates a webhook; the receiver verifies with its secret. */
async function create(more: object = {}): Promise<string> {
  const made = await h.mutate(
    'createWebhook',
    { url: `${receiver.url}/hook`, ...more },
    'secret webhook { id }',
  )
  if (!made['webhook']) throw new Error(JSON.stringify(made))
  receiver.secret = made['secret']
  return made['webhook'].id as string
}

/** Makes events: one AGENT_CREATED for each name. */
async function agents(...names: string[]): Promise<void> {
  for (const name of names) await h.mutate('createAgent', { name }, 'agent { id }')
}

const numbered = (count: number, prefix = 'a') =>
  Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(3, '0')}`)
const namesIn = (r: Receiver) =>
  r.received.filter(({ type }) => type === 'agent.created').map(({ data }) => data['name'])

async function read(id: string): Promise<Record<string, any>> {
  const result = await h.gql(`query($id: ID!) { webhook(id: $id) ${fields.slice('webhook '.length)} }`, {
    id,
  })
  const webhook = result.data['webhook']
  // Most tests are about what failed; what was accepted at once is listed beside it.
  const nodes = webhook.deliveries.nodes.filter(({ answers }: any) => answers.some((one: any) => one.error))
  return { ...webhook, deliveries: { nodes } }
}

async function until(id: string, holds: (webhook: Record<string, any>) => boolean) {
  for (const start = performance.now(); ; await pause(25)) {
    const webhook = await read(id)
    if (holds(webhook)) return webhook
    if (performance.now() - start > 90_000) throw new Error(JSON.stringify(webhook))
  }
}

test('every event is delivered with a signature that the official library accepts', async () => {
  const id = await create()
  await agents('x', 'y')
  await receiver.until(() => namesIn(receiver).length === 2)
  expect(receiver.refused).toEqual([])
  const first = receiver.received.find(({ type }) => type === 'agent.created')
  expect(first!.headers).toMatchObject({ 'content-type': 'application/json' })
  expect(first!.id).toMatch(/^evt_[\w-]+_\d+$/)
  expect(Object.keys(first!.data).toSorted()).toEqual(
    ['agentId', 'cursor', 'generationId', 'name', 'projectId', 'seq', 'version'].toSorted(),
  )
  expect(new Set(receiver.received.map((one) => one.id)).size).toBe(receiver.received.length)
  const webhook = await until(id, ({ deliveredCount }) => deliveredCount >= 2)
  expect(webhook).toMatchObject({ pendingCount: 0, deliveries: { nodes: [] } })
})

test('a filter of types delivers only those types', async () => {
  await create({ types: ['AGENT_DELETED'] })
  const { agent } = await h.mutate('createAgent', { name: 'x' }, 'agent { id }')
  await h.mutate('deleteAgent', { id: agent.id }, '__typename')
  await receiver.until((received) => received.length > 0)
  expect(receiver.received.map(({ type }) => type)).toEqual(['agent.deleted'])
})

test('an event that fails is sent again under the same id, and delays no other', async () => {
  const bad = new Set(['a001'])
  receiver.respond = (got, response) =>
    bad.has(got.data['name']) ? response.writeHead(500).end('no\u0000pe') : accept(got, response)
  const id = await create({ types: ['AGENT_CREATED'] })
  await agents(...numbered(4))
  await receiver.until(() => namesIn(receiver).length === 4)
  const { deliveries } = await until(id, (webhook) => webhook['pendingCount'] === 1)
  expect(deliveries.nodes[0]).toMatchObject({ status: 'PENDING', attempts: 1 })
  expect(deliveries.nodes[0].answers).toEqual([
    { status: 500, error: 'The endpoint answered 500.', body: 'no\ufffdpe' },
  ])
  bad.clear()
  await passTime(h)
  await until(id, (webhook) => webhook['deliveries'].nodes[0].status === 'DELIVERED')
  const sent = receiver.received.filter(({ data }) => data['name'] === 'a001')
  expect(sent).toHaveLength(2)
  expect(sent[0]!.id).toBe(sent[1]!.id)
})

test('after seven failures a delivery is dead, and redeliverWebhook sends it again', async () => {
  let fails = true
  receiver.respond = (got, response) =>
    fails && got.data['name'] === 'x' ? response.writeHead(500).end() : accept(got, response)
  const id = await create({ types: ['AGENT_CREATED'] })
  await agents('x', 'y')
  for (let attempts = 1; attempts < 7; attempts++) {
    await until(id, ({ deliveries }) => deliveries.nodes[0]?.attempts === attempts)
    await passTime(h)
  }
  const { deliveries } = await until(id, (webhook) => webhook['deliveries'].nodes[0].status === 'DEAD')
  expect(deliveries.nodes[0]).toMatchObject({ attempts: 7 })
  await passTime(h)
  fails = false
  const deliveryId = deliveries.nodes[0].id
  const again = await h.mutate('redeliverWebhook', { deliveryId }, 'delivery { status }')
  expect(again['delivery'].status).toBe('PENDING')
  await until(id, (webhook) => webhook['deliveries'].nodes[0].status === 'DELIVERED')
  expect(receiver.received.filter(({ data }) => data['name'] === 'x')).toHaveLength(8)
})

test('an endpoint that hangs, resets or redirects has failed, and a redirect is not followed', async () => {
  const inward = await openReceiver()
  const behaviours = [
    () => {},
    (response: import('node:http').ServerResponse) => void response.socket!.destroy(),
    (response: import('node:http').ServerResponse) => {
      response.writeHead(200, { 'content-length': '100' }).write('half')
      setImmediate(() => response.socket!.destroy())
    },
    (response: import('node:http').ServerResponse) =>
      void response.writeHead(307, { location: inward.url }).end(),
  ]
  const names = numbered(4)
  receiver.respond = ({ data }, response) => behaviours[names.indexOf(String(data['name']))]!(response)
  const id = await create({ types: ['AGENT_CREATED'] })
  await agents(...names)
  const { deliveries } = await until(
    id,
    (webhook) => webhook['pendingCount'] === 4 && webhook['deliveries'].nodes.length === 4,
  )
  // One that failed at once may have been tried again meanwhile.
  const errors = deliveries.nodes.map(({ answers }: any) => answers[0].error)
  expect(errors.filter((one: string) => /redirects are not followed/.test(one))).toHaveLength(1)
  expect(inward.received).toEqual([])
  await inward.close()
})

test('an endpoint that answers 410 is disabled at once, and enabled again it gets what it missed', async () => {
  receiver.respond = (_got, response) => void response.writeHead(410).end()
  const id = await create({ types: ['AGENT_CREATED'] })
  await agents('x')
  expect(await until(id, ({ status }) => status === 'DISABLED')).toMatchObject({ disabledReason: 'GONE' })
  await agents('y')
  receiver.respond = accept
  receiver.received.length = 0
  await h.mutate('updateWebhook', { webhookId: id, enabled: true }, 'webhook { status }')
  await receiver.until(() => namesIn(receiver).length === 2)
  // Only a webhook that asks for it gets its events in order.
  expect(namesIn(receiver).toSorted()).toEqual(['x', 'y'])
  const log = await h.gql(`{ auditEntries(first: 5) { nodes { action resource outcome principalId } } }`)
  expect(log.data['auditEntries'].nodes).toContainEqual({
    action: 'webhooks:Update',
    resource: `webhook/${id}`,
    outcome: 'EXECUTED',
    principalId: 'system',
  })
})

test('Retry-After of a 429 is the least time until anything is sent again', async () => {
  receiver.respond = (_got, response) => void response.writeHead(429, { 'retry-after': '600' }).end()
  const id = await create({ types: ['AGENT_CREATED'] })
  await agents('x')
  await until(id, (webhook) => webhook['pendingCount'] === 1)
  const [row] = await query<{ next: number; wait: number; status: string }>(
    h.app.services.db,
    sql`select extract(epoch from d.next_at - now())::float8 as next, c.status,
        extract(epoch from c.wake_at - now())::float8 as wait
      from webhook_deliveries as d
      join webhook_cursors as c on c.id = d.webhook_id`,
  )
  expect(row!.status).toBe('WAITING')
  expect(row!.next).toBeGreaterThan(590)
  expect(row!.wait).toBeGreaterThan(590)
})

test('an endpoint that is down is probed, and gets everything in the end', { timeout: 270_000 }, async () => {
  receiver.respond = (_got, response) => void response.writeHead(503).end()
  const id = await create({ types: ['AGENT_CREATED'] })
  for (const name of numbered(3)) {
    const before = receiver.received.length
    await agents(name)
    await receiver.until((received) => received.length > before)
    await until(id, ({ pendingCount }) => pendingCount > Number(name.slice(1)))
  }
  const down = await read(id)
  expect(down['failingSince']).not.toBeNull()
  await agents(...numbered(20, 'b'))
  const count = receiver.received.length
  await passTime(h)
  await receiver.until((received) => received.length > count)
  expect(receiver.received.length - count, 'one event only').toBeLessThanOrEqual(1)
  receiver.respond = accept
  for (; new Set(namesIn(receiver)).size < 23; await pause(50)) await passTime(h)
  expect(await until(id, ({ pendingCount }) => pendingCount === 0)).toMatchObject({ failingSince: null })
})

test.each([
  { of: 'an endpoint', ordered: false },
  { of: 'an ordered endpoint, which waits after each failure,', ordered: true },
])('$of at which everything fails for five days is disabled', async ({ ordered }) => {
  receiver.respond = (_got, response) => void response.writeHead(500).end()
  const id = await create({ types: ['AGENT_CREATED'], ordered })
  await agents('x')
  await until(id, ({ pendingCount }) => pendingCount === 1)
  await query(h.app.services.db, sql`update webhooks set failing_since = now() - interval '121 hours'`)
  await passTime(h)
  expect(await until(id, ({ status }) => status === 'DISABLED')).toMatchObject({ disabledReason: 'FAILING' })
})

test('an ordered endpoint gets one event at a time, and one that fails holds up those after it', async () => {
  let open = 0
  let most = 0
  let fails = true
  receiver.respond = (got, response) => {
    most = Math.max(most, ++open)
    setImmediate(() => {
      open--
      if (fails && got.data['name'] === 'a003') response.writeHead(500).end()
      else accept(got, response)
    })
  }
  const id = await create({ types: ['AGENT_CREATED'], ordered: true })
  await agents(...numbered(10))
  const { deliveries } = await until(id, ({ pendingCount }) => pendingCount === 1)
  expect(deliveries.nodes).toHaveLength(1)
  expect(namesIn(receiver)).toEqual(numbered(4))
  await passTime(h)
  await until(id, (webhook) => webhook['deliveries'].nodes[0].attempts === 2)
  fails = false
  await passTime(h)
  await receiver.until(() => namesIn(receiver).at(-1) === 'a009')
  expect([...new Set(namesIn(receiver))]).toEqual(numbered(10))
  expect(most).toBe(1)
  await until(id, (webhook) => webhook['deliveries'].nodes[0].status === 'DELIVERED')
})

test('an ordered endpoint goes on after an event that is dead', async () => {
  receiver.respond = (got, response) =>
    got.data['name'] === 'x' ? response.writeHead(500).end() : accept(got, response)
  const id = await create({ types: ['AGENT_CREATED'], ordered: true })
  await agents('x', 'y')
  for (let attempts = 1; attempts < 7; attempts++) {
    await until(id, ({ deliveries }) => deliveries.nodes[0]?.attempts === attempts)
    await passTime(h)
  }
  await receiver.until(() => namesIn(receiver).includes('y'))
  const webhook = await until(id, ({ deliveries }) => deliveries.nodes[0].status === 'DEAD')
  expect(webhook['deliveries'].nodes).toHaveLength(1)
})

test('an ordered endpoint that was stuck gets its event also when it wants other events now, and is asked for it', async () => {
  let fails = true
  receiver.respond = (got, response) => (fails ? response.writeHead(500).end() : accept(got, response))
  const id = await create({ types: ['AGENT_CREATED'], ordered: true })
  await agents('a')
  const stuck = await until(id, ({ deliveries }) => deliveries.nodes[0]?.attempts === 1)
  // Asked for while it still fails: the event is at the place of the cursor, and is sent once.
  const deliveryId = stuck['deliveries'].nodes[0].id as string
  await h.mutate('redeliverWebhook', { deliveryId }, 'delivery { id }')
  await until(id, ({ deliveries }) => deliveries.nodes[0].attempts === 2)
  expect(receiver.received).toHaveLength(2)
  await h.mutate(
    'updateWebhook',
    { webhookId: id, types: ['TOOL_CREATED'], ordered: false },
    'webhook { id }',
  )
  fails = false
  await passTime(h)
  await until(id, ({ deliveries }) => deliveries.nodes[0].status === 'DELIVERED')
})

test('while a secret is rotated, receivers may know the old one or the new one', async () => {
  const id = await create()
  const old = receiver.secret
  const { secret } = await h.mutate('rotateWebhookSecret', { webhookId: id }, 'secret')
  expect(secret).not.toBe(old)
  await agents('x')
  await receiver.until(() => namesIn(receiver).includes('x'))
  receiver.secret = secret
  await agents('y')
  await receiver.until(() => namesIn(receiver).includes('y'))
  expect(receiver.refused).toEqual([])
  await query(h.app.services.db, sql`update webhooks set previous_until = now()`)
  await agents('z')
  await receiver.until(() => namesIn(receiver).includes('z'))
  expect(receiver.received.at(-1)!.headers['webhook-signature']).not.toContain(' ')
})

test('a replay sends a part of the log again with the same ids, while new events go on', async () => {
  const id = await create({ types: ['AGENT_CREATED'] })
  await agents(...numbered(6))
  await receiver.until(() => namesIn(receiver).length === 6)
  const before = new Map(receiver.received.map((one) => [one.data['name'], one]))
  const cursorOf = (name: string) => before.get(name)!.data['cursor'] as string
  receiver.received.length = 0
  const input = { webhookId: id, after: cursorOf('a001'), until: cursorOf('a004') }
  expect((await h.mutate('replayWebhook', input, 'replayId'))['replayId']).toMatch(/^whr_/)
  await receiver.until(() => namesIn(receiver).length === 3)
  await agents('new')
  await receiver.until(() => namesIn(receiver).includes('new'))
  expect(namesIn(receiver).toSorted()).toEqual(['a002', 'a003', 'a004', 'new'])
  for (const { id: eventId, data } of receiver.received.slice(0, 3))
    expect(eventId).toBe(before.get(data['name'])!.id)
  await expect
    .poll(() => query(h.app.services.db, sql`select 1 from webhook_cursors where id like 'whr_%'`), {
      timeout: 90_000,
    })
    .toEqual([])
})

test('a webhook may begin in the past, and testWebhook tells what the endpoint answers', async () => {
  await agents('x')
  const id = await create({ types: ['AGENT_CREATED'], after: '0' })
  await receiver.until(() => namesIn(receiver).includes('x'))
  receiver.respond = (_got, response) => void response.writeHead(418).end('teapot')
  const { answer } = await h.mutate('testWebhook', { webhookId: id }, 'answer { status error body }')
  expect(answer).toEqual({ status: 418, error: 'The endpoint answered 418.', body: 'teapot' })
  expect(receiver.received.at(-1)).toMatchObject({ type: 'webhook.test', data: { webhookId: id } })
  expect(receiver.refused).toEqual([])
})

test('a place whose event is not in the log any more is told in an event and the audit log', async () => {
  const id = await create({ types: ['AGENT_CREATED', 'AGENT_DELETED'] })
  const watcher = await openReceiver()
  await h.mutate('createWebhook', { url: watcher.url, types: ['WEBHOOK_CURSOR_EXPIRED'] }, '__typename')
  await agents('x')
  await receiver.until(() => namesIn(receiver).includes('x'))
  await until(id, ({ deliveredCount }) => deliveredCount === 1)
  await h.mutate('updateWebhook', { webhookId: id, enabled: false }, '__typename')
  await query(
    h.app.services.db,
    sql`update webhook_cursors set mark = jsonb_set(mark, '{id}', '1') where id = ${id}`,
  )
  await agents('y')
  await h.mutate('updateWebhook', { webhookId: id, enabled: true }, '__typename')
  await receiver.until(() => namesIn(receiver).includes('y'))
  await watcher.until((received) => received.length > 0)
  expect(watcher.received[0]).toMatchObject({ type: 'webhook_cursor.expired', data: { webhookId: id } })
  await watcher.close()
})

test('a slow endpoint delays no other', async () => {
  const slow = await openReceiver(() => {})
  const made = await h.mutate('createWebhook', { url: slow.url, types: ['AGENT_CREATED'] }, 'webhook { id }')
  expect(made['webhook'].id).toMatch(/^whk_/)
  await create({ types: ['AGENT_CREATED'] })
  await agents(...numbered(40))
  await receiver.until(() => namesIn(receiver).length === 40)
  expect(slow.received.length).toBeLessThan(40)
  await slow.close()
})
