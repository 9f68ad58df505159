/** What the feed tells about the deliveries of a webhook: changes of its state, once each, and to no webhook. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { openHarness, adminKey, type Harness } from '../../support/harness.ts'
import { followFeed } from '../../support/feed-readers.ts'
import { accept, openReceiver, passTime, type Receiver } from '../../support/webhook-receiver.ts'

let h: Harness
let bad: Receiver
let watcher: Receiver
let reader: ReturnType<typeof followFeed>

beforeEach(async () => {
  bad = await openReceiver((_got, response) => void response.writeHead(500).end())
  watcher = await openReceiver()
  h = await openHarness()
  reader = followFeed({
    url: h.url,
    key: adminKey,
    types: ['WEBHOOK_FAILING', 'WEBHOOK_RECOVERED', 'WEBHOOK_DELIVERY_DEAD', 'PROJECT_UPDATED'],
    after: '0',
  })
})
afterEach(async () => {
  await reader.close()
  await h.stop()
  await bad.close()
  await watcher.close()
})

const told = () => reader.told.map(({ type }) => type)

async function create(url: string, more: object = {}): Promise<string> {
  return (await h.mutate('createWebhook', { url, ...more }, 'webhook { id }'))['webhook'].id as string
}
const agent = (name: string) => h.mutate('createAgent', { name }, 'agent { id }')

/** Lets time pass until it holds. */
async function passTimeUntil(holds: () => boolean): Promise<void> {
  await expect
    .poll(async () => holds() || (await passTime(h), holds()), { timeout: 90_000, interval: 25 })
    .toBe(true)
}

/** The feed up to now, of the types that are followed. */
async function toldByNow(): Promise<string[]> {
  const count = told().filter((type) => type === 'PROJECT_UPDATED').length
  const { data } = await h.gql('{ viewer { project { id } } }')
  await h.mutate('updateProject', { id: data['viewer'].project.id, name: `p${count}` }, '__typename')
  await expect.poll(() => told().filter((type) => type === 'PROJECT_UPDATED').length).toBe(count + 1)
  return told().filter((type) => type !== 'PROJECT_UPDATED')
}

test('an endpoint that begins to fail and one that is back are told once each, and to no webhook', async () => {
  const id = await create(bad.url, { types: ['AGENT_CREATED'] })
  await create(watcher.url, { ordered: true })
  await agent('a')
  await bad.until((received) => received.length === 1)
  expect(await toldByNow()).toEqual([])
  await passTimeUntil(() => told().includes('WEBHOOK_FAILING'))
  const sent = bad.received.length
  expect(sent).toBeGreaterThanOrEqual(3)
  await passTimeUntil(() => bad.received.length > sent + 1)
  expect(await toldByNow()).toEqual(['WEBHOOK_FAILING'])

  bad.respond = accept
  await passTimeUntil(() => told().includes('WEBHOOK_RECOVERED'))
  await agent('b')
  await bad.until((received) => received.some(({ data }) => data['name'] === 'b'))
  expect(await toldByNow()).toEqual(['WEBHOOK_FAILING', 'WEBHOOK_RECOVERED'])

  bad.respond = (_got, response) => void response.writeHead(500).end()
  await agent('c')
  await passTimeUntil(() => told().filter((type) => type === 'WEBHOOK_FAILING').length === 2)
  await agent('last')
  await watcher.until((received) => received.some(({ data }) => data['name'] === 'last'))
  const types = watcher.received.map(({ type }) => type)
  expect(types.filter((type) => /failing|recovered|dead/.test(type))).toEqual([])
  const { data } = await h.gql('query($id: ID!) { webhook(id: $id) { failingSince } }', { id })
  expect(data['webhook'].failingSince).not.toBeNull()
})

test('dead deliveries are told once in an hour, however many there are', async () => {
  await create(bad.url, { types: ['AGENT_CREATED'] })
  const { db } = h.app.services
  const dead = async () =>
    (
      await query<{ n: number }>(
        db,
        sql`select count(*)::int as n from webhook_deliveries where status = 'DEAD'`,
      )
    )[0]!.n
  const kill = async (count: number) => {
    await agent(`a${count}`)
    const start = bad.received.length
    await passTimeUntil(() => bad.received.length > start)
    await expect
      .poll(
        async () => {
          await query(db, sql`update webhook_deliveries set tries = 6 where status = 'PENDING'`)
          await passTime(h)
          return dead()
        },
        { timeout: 90_000, interval: 50 },
      )
      .toBe(count)
  }
  await kill(1)
  await kill(2)
  const deaths = async () => (await toldByNow()).filter((type) => type === 'WEBHOOK_DELIVERY_DEAD')
  expect(await deaths()).toHaveLength(1)
  await query(db, sql`update webhooks set dead_told_at = dead_told_at - interval '61 minutes'`)
  await kill(3)
  expect(await deaths()).toHaveLength(2)
})
