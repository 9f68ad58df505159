/** What an endpoint accepted: listed with payload and answer, sent again, bounded, and without a statement of its own. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Webhook } from 'standardwebhooks'
import { query } from '../../../src/store/db/database.ts'
import { forgetOldDeliveries } from '../../../src/domain/followers/index.ts'
import { samples } from '../../domain/events/samples.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { statementsDuring } from '../../support/statements.ts'
import { openReceiver, type Receiver } from '../../support/webhook-receiver.ts'

let h: Harness
let receiver: Receiver
beforeEach(async () => {
  receiver = await openReceiver((_got, response) => void response.writeHead(202).end('{"queued":true}'))
  h = await openHarness()
})
afterEach(async () => {
  await h.stop()
  await receiver.close()
})

async function create(more: object = {}): Promise<string> {
  const made = await h.mutate(
    'createWebhook',
    { url: `${receiver.url}/hook`, types: ['AGENT_CREATED', 'AGENT_DELETED'], ...more },
    'secret webhook { id }',
  )
  receiver.secret = made['secret']
  return made['webhook'].id
}
const agents = async (...names: string[]) => {
  for (const name of names) await h.mutate('createAgent', { name }, 'agent { id }')
}

const fields =
  'id type status attempts messageId payload createdAt answers { at status error body milliseconds }'
async function list(id: string, args = 'first: 100', key?: string): Promise<Record<string, any>[]> {
  const { data, errors } = await h.gql(
    `query($id: ID!) { webhook(id: $id) { deliveries(${args}) { nodes { ${fields} } } } }`,
    { id },
    key,
  )
  if (errors) throw new Error(JSON.stringify(errors))
  return data['webhook'].deliveries.nodes
}
/** Until the receiver's answers are written. */
async function accepted(id: string, count: number): Promise<void> {
  await expect
    .poll(
      async () => {
        const { data } = await h.gql('query($id: ID!) { webhook(id: $id) { deliveredCount } }', { id })
        return data['webhook'].deliveredCount
      },
      { timeout: 90_000 },
    )
    .toBeGreaterThanOrEqual(count)
}

test('the headers of an answer are kept: few, short, and without what lets somebody in', async () => {
  const secrets = {
    'set-cookie': ['sid=hush1', 'b=hush2'],
    'x-api-key': 'hush3',
    authorization: 'Bearer hush4',
  }
  const long = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`z-${n}`, 'v'.repeat(300)]))
  receiver.respond = (_got, response) =>
    void response.writeHead(200, { 'content-type': 'text/plain', ...secrets, ...long }).end('ok')
  const id = await create()
  const headersOf = async (args: string) => {
    const { data, errors } = await h.gql(
      `query($id: ID!) { webhook(id: $id) { deliveries(${args}) { nodes { answers { headers { name value } } } } } }`,
      { id },
    )
    expect(errors).toBeUndefined()
    return data['webhook'].deliveries.nodes.map((node: any) => node.answers[0].headers)
  }
  await agents('x')
  await accepted(id, 1)
  const [headers] = await headersOf('first: 100')
  expect(JSON.stringify(headers)).not.toContain('hush')
  for (const name of ['set-cookie', 'x-api-key', 'authorization'])
    expect(headers).toContainEqual({ name, value: '[masked]' })
  expect(headers).toContainEqual({ name: 'content-type', value: 'text/plain' })
  expect(headers.length).toBeLessThanOrEqual(20)
  expect(JSON.stringify(headers).length).toBeLessThan(2500)
  expect(Math.max(...headers.map((one: any) => one.value.length))).toBe(200)
  // What an earlier release has written has none; what fails, has them too.
  await query(h.app.services.db, sql`update webhook_receipts set answer = answer - 'headers'`)
  expect(await headersOf('first: 1')).toEqual([[]])
  receiver.respond = (_got, response) => void response.writeHead(500, { 'x-trace': 't1' }).end()
  await agents('y')
  await expect.poll(() => headersOf('first: 1, status: PENDING')).toHaveLength(1)
  expect((await headersOf('first: 1'))[0]).toContainEqual({ name: 'x-trace', value: 't1' })
})

test('each delivery that was accepted is listed with its answer, and with the payload that was sent', async () => {
  const id = await create()
  await agents('x', 'y')
  await accepted(id, 2)
  const nodes = await list(id)
  expect(nodes.map(({ payload }) => payload.data.name)).toEqual(['y', 'x'])
  for (const node of nodes) {
    const got = receiver.received.find((one) => one.id === node['messageId'])!
    expect(node['payload']).toEqual(JSON.parse(got.raw))
    expect(node).toMatchObject({ type: 'AGENT_CREATED', status: 'DELIVERED', attempts: 1 })
    expect(node['answers']).toEqual([
      {
        at: expect.any(String),
        status: 202,
        error: null,
        body: '{"queued":true}',
        milliseconds: expect.any(Number),
      },
    ])
  }
  expect(await list(id, 'first: 5, status: DEAD')).toEqual([])
  expect(await list(id, 'first: 5, type: AGENT_DELETED')).toEqual([])
  expect(await list(id, 'first: 5, status: DELIVERED, type: AGENT_CREATED')).toHaveLength(2)
})

test('pages of what failed and what was accepted are one list, read in both directions', async () => {
  receiver.respond = (got, response) =>
    void response.writeHead(String(got.data['name']).startsWith('bad') ? 500 : 200).end()
  const id = await create()
  await agents('a', 'bad1', 'b', 'bad2', 'c')
  await accepted(id, 3)
  await expect.poll(async () => (await list(id)).length).toBe(5)
  const all = (await list(id)).map((node) => node['id'])
  const walk = async (size: string, from: 'after' | 'before') => {
    const seen: string[] = []
    let at = ''
    for (;;) {
      const { data } = await h.gql(
        `query($id: ID!) { webhook(id: $id) { deliveries(${size}: 2 ${at}) { edges { cursor node { id } } } } }`,
        { id },
      )
      const { edges } = data['webhook'].deliveries
      if (edges.length === 0) return seen
      const ids = edges.map(({ node }: any) => node.id)
      seen.push(...(from === 'after' ? ids : ids.toReversed()))
      at = `, ${from}: "${edges.at(from === 'after' ? -1 : 0).cursor}"`
    }
  }
  expect(await walk('first', 'after')).toEqual(all)
  expect(await walk('last', 'before')).toEqual(all.toReversed())
})

test('one that was accepted is sent again under its id, and stays one delivery', async () => {
  const id = await create()
  await agents('x')
  await accepted(id, 1)
  const [first] = await list(id)
  const again = await h.mutate('redeliverWebhook', { deliveryId: first!['id'] }, 'delivery { id status }')
  expect(again['delivery']).toEqual({ id: first!['id'], status: 'PENDING' })
  await receiver.until((received) => received.length === 2)
  expect(new Set(receiver.received.map((one) => one.id)).size).toBe(1)
  await expect.poll(async () => (await list(id))[0]!['attempts']).toBe(2)
  const nodes = await list(id)
  expect(nodes).toHaveLength(1)
  expect(nodes[0]).toMatchObject({ id: first!['id'], status: 'DELIVERED', createdAt: first!['createdAt'] })
  expect(nodes[0]!['answers']).toHaveLength(2)
  // Again: it has a row of its own by now.
  await h.mutate('redeliverWebhook', { deliveryId: first!['id'] }, 'delivery { id }')
  await receiver.until((received) => received.length === 3)
})

test('a webhook keeps its newest thousand receipts for three days, and none after it is deleted', async () => {
  const id = await create()
  const { db } = h.app.services
  const rows = async () =>
    (
      await query<{ n: number; slots: number }>(
        db,
        sql`select count(*)::int as n, count(distinct slot)::int as slots from webhook_receipts`,
      )
    )[0]
  await agents('first')
  await accepted(id, 1)
  // As if a thousand had been accepted since: the next one takes the place of the first.
  await query(db, sql`update webhook_cursors set delivered = 1000 where id = ${id}`)
  await agents('second')
  await accepted(id, 1001)
  expect((await list(id)).map(({ payload }) => payload.data.name)).toEqual(['second'])
  await agents('third')
  await accepted(id, 1002)
  expect(await rows()).toEqual({ n: 2, slots: 2 })
  await query(db, sql`update webhook_receipts set at = at - interval '4 days' where slot = 1`)
  expect((await list(id)).map(({ payload }) => payload.data.name)).toEqual(['third'])
  await forgetOldDeliveries(db)
  expect(await rows()).toEqual({ n: 1, slots: 1 })
  await h.mutate('deleteWebhook', { webhookId: id }, '__typename')
  expect(await rows()).toEqual({ n: 0, slots: 0 })
})

test('another project cannot tell a delivery from one that never was', async () => {
  const id = await create()
  await agents('x')
  await accepted(id, 1)
  const [first] = await list(id)
  const made = await h.mutate('createProject', { name: 'Other' }, 'project { id }')
  const { secret } = await h.mutate(
    'createApiKey',
    { projectId: made['project'].id, name: 'k', role: 'ADMIN' },
    'secret',
  )
  const refused = await h.mutate('redeliverWebhook', { deliveryId: first!['id'] }, 'delivery { id }', secret)
  const missing = await h.mutate(
    'redeliverWebhook',
    { deliveryId: `${String(first!['id']).slice(0, -1)}987654` },
    'delivery { id }',
    secret,
  )
  expect(refused).toMatchObject({ __typename: 'NotFoundError', code: 'NOT_FOUND' })
  expect(missing['message'].replace(/whd_\w+/, '')).toBe(refused['message'].replace(/whd_\w+/, ''))
})

test('an event of each type is made up and signed, also with the secret before a rotation', async () => {
  const { webhook, secret } = await h.mutate(
    'createWebhook',
    { url: `${receiver.url}/hook`, full: true, types: ['FILE_DELETED'] },
    'secret webhook { id }',
  )
  receiver.secret = secret
  const rotated = await h.mutate('rotateWebhookSecret', { webhookId: webhook.id }, 'secret')
  const send = (type: string | null) =>
    h.mutate('testWebhook', { webhookId: webhook.id, type }, 'answer { status body }')
  // The receiver knows the old secret.
  expect((await send(null))['answer']).toEqual({ status: 202, body: '{"queued":true}' })
  expect((await send('APPROVAL_REQUESTED'))['answer'].status).toBe(202)
  const got = receiver.received.at(-1)!
  expect(got).toMatchObject({
    type: 'approval.requested',
    data: { test: true, ...samples.APPROVAL_REQUESTED, generationId: 'gen_1', link: expect.any(String) },
  })
  expect(got.id).toMatch(/^evt_test_/)
  new Webhook(rotated['secret']).verify(got.raw, got.headers as Record<string, string>)
  // As if the rotation had ended.
  await query(h.app.services.db, sql`update webhooks set previous_until = now() - interval '1 second'`)
  expect((await send('TOOL_CREATED'))['answer'].status).toBe(401)
  receiver.secret = rotated['secret']
  expect((await send('TOOL_CREATED'))['answer'].status).toBe(202)
  expect(receiver.received.at(-1)!.data).toMatchObject({
    test: true,
    ...samples.TOOL_CREATED,
    generationId: null,
  })
  const none = await send('WEBHOOK_FAILING')
  expect(none['issues']).toEqual([{ path: ['input', 'type'], message: 'is not sent to webhooks' }])
})

test('receipts are written by the statement that moves the place, so a round costs no statement more', async () => {
  const id = await create()
  await h.mutate('updateWebhook', { webhookId: id, enabled: false }, '__typename')
  await agents(...Array.from({ length: 30 }, (_, n) => `a${n}`))
  const seen = await statementsDuring(h.app.services.db, async () => {
    await h.mutate('updateWebhook', { webhookId: id, enabled: true }, '__typename')
    await accepted(id, 30)
  })
  const commits = seen.filter((text) => text.includes('delivered = delivered +'))
  const writing = seen.filter((text) => text.includes('webhook_receipts'))
  expect(writing.filter((text) => !commits.includes(text))).toEqual([])
  // Thirty deliveries, in as many statements as there were rounds.
  expect(writing.length).toBeGreaterThan(0)
  expect(writing.length).toBeLessThan(6)
  expect(await list(id)).toHaveLength(30)
})
