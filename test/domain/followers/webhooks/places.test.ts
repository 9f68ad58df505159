/** The place of a webhook: one holder, moved under its epoch only, written for no event that a filter leaves out. */
import { sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { claimPlaces } from '../../../../src/domain/followers/place.ts'
import { cursors } from '../../../../src/domain/followers/webhooks/deliver.ts'
import { commitRound, park } from '../../../../src/domain/followers/webhooks/commit.ts'
import type { RoundResult } from '../../../../src/domain/followers/webhooks/result.ts'
import { loadCursor } from '../../../../src/domain/followers/webhooks/state.ts'
import { resealWebhooks } from '../../../../src/domain/followers/webhooks/endings.ts'
import { endEveryLease } from '../../../../src/store/db/incarnation.ts'
import { query } from '../../../../src/store/db/database.ts'
import { ConnectionLostError } from '../../../../src/store/db/storage-error.ts'
import { aroundStatements } from '../../../support/around-statements.ts'
import { openHarness, type Harness } from '../../../support/harness.ts'
import { openReceiver, type Receiver } from '../../../support/webhook-receiver.ts'

let h: Harness
let receiver: Receiver | null = null

afterEach(async () => {
  await h.stop()
  await receiver?.close()
  receiver = null
})

async function create(url: string, more: object = {}): Promise<string> {
  const made = await h.mutate('createWebhook', { url, ...more }, 'secret webhook { id }')
  if (receiver) receiver.secret = made['secret']
  return made['webhook'].id as string
}

const agents = async (names: string[]) => {
  for (const name of names) await h.mutate('createAgent', { name }, '__typename')
}
const all = { limit: 10, except: [] }
const leaseMs = 60_000
const longerThanTheTest = 600_000

interface Place {
  at: number
  epoch: number
  status: string
}

async function placeOf(id: string): Promise<Place> {
  const rows = await query<Place>(
    h.app.services.db,
    sql`select at::float8 as at, epoch, status from webhook_cursors where id = ${id}`,
  )
  return rows[0]!
}

test('a place goes to one of many processes, and only its holder moves it', async () => {
  h = await openHarness({ role: 'api' })
  const { services } = h.app
  const { db } = services
  const id = await create('https://hooks.example/x')
  const claims = await Promise.all([1, 2, 3].map(() => claimPlaces(db, cursors, leaseMs, all)))
  const [stale] = claims.flat()
  expect(claims.flat()).toHaveLength(1)
  const state = (await loadCursor(services, stale!))!
  // Its lease ends while it is frozen, and another process takes over.
  await query(db, sql`update webhook_cursors set wake_at = now() - interval '1 second'`)
  const [holder] = await claimPlaces(db, cursors, leaseMs, all)
  expect(holder!.epoch).toBe(stale!.epoch + 1)
  const before = await placeOf(id)
  const result: RoundResult = {
    at: { at: before.at + 1000, event: null },
    until: null,
    deliveries: [],
    receipts: [],
    delivered: 5,
    failures: 0,
    waitMs: null,
    succeeded: true,
    isDown: false,
  }
  expect(await loadCursor(services, stale!)).toBeNull()
  expect(await commitRound(db, stale!, state, result)).toBeNull()
  expect(await park(db, stale!, state, { at: before.at + 1000, event: null })).toBe(false)
  expect(await placeOf(id)).toEqual(before)
  expect(await commitRound(db, holder!, state, result)).toEqual({
    failingMs: 0,
    told: false,
    epoch: holder!.epoch,
  })
  expect((await placeOf(id)).at).toBe(before.at + 1000)
})

test('a place that was asked to be read again is not given back', async () => {
  h = await openHarness({ role: 'api' })
  const { services } = h.app
  await create('https://hooks.example/x')
  const [held] = await claimPlaces(services.db, cursors, leaseMs, all)
  const state = (await loadCursor(services, held!))!
  await query(services.db, sql`update webhook_cursors set asked = asked + 1`)
  expect(await park(services.db, held!, state, state.at)).toBe(false)
  const again = (await loadCursor(services, held!))!
  expect(await park(services.db, held!, again, again.at)).toBe(true)
})

test('events that a filter leaves out write nothing, until many have passed', async () => {
  h = await openHarness({ role: 'api' })
  const { services } = h.app
  const id = await create('https://hooks.example/x', { types: ['AGENT_DELETED'] })
  const [held] = await claimPlaces(services.db, cursors, leaseMs, all)
  const state = (await loadCursor(services, held!))!
  await park(services.db, held!, state, state.at)
  const before = await placeOf(id)
  await agents(['a', 'b', 'c'])
  await services.db.execute(sql`select number_waiting_events(true, 2000)`)
  expect(await claimPlaces(services.db, cursors, leaseMs, all)).toEqual([])
  expect(await placeOf(id)).toEqual(before)
  await query(
    services.db,
    sql`update events set position = position + 6000 where position > ${before.at}::bigint`,
  )
  expect(await claimPlaces(services.db, cursors, leaseMs, all)).toHaveLength(1)
})

test('after a restore no earlier holder moves a place, and a new master key opens every signing secret', async () => {
  h = await openHarness({ role: 'api' })
  const { services } = h.app
  const id = await create('https://hooks.example/x')
  await h.mutate('rotateWebhookSecret', { webhookId: id }, 'secret')
  const [held] = await claimPlaces(services.db, cursors, leaseMs, all)
  const before = (await loadCursor(services, held!))!
  await endEveryLease(services.db)
  expect(await loadCursor(services, held!)).toBeNull()
  const [holder] = await claimPlaces(services.db, cursors, leaseMs, all)
  const masterKey = Buffer.alloc(32, 9)
  expect(await resealWebhooks(services.db, services.masterKey, masterKey)).toBe(1)
  const after = (await loadCursor({ db: services.db, masterKey }, holder!))!
  expect(after.target.secrets).toHaveLength(2)
  expect(after.target).toEqual(before.target)
  await expect(loadCursor(services, holder!)).rejects.toThrow()
})

test('with every hint lost, an event is delivered all the same', async () => {
  receiver = await openReceiver()
  h = await openHarness()
  await create(receiver.url, { types: ['AGENT_CREATED'] })
  h.app.services.pubsub.publish = () => {}
  await agents(['a'])
  await receiver.until((received) => received.length === 1)
})

test('a commit whose answer is lost delays nothing until the lease ends, and loses nothing', async () => {
  receiver = await openReceiver()
  h = await openHarness({ leaseMs: longerThanTheTest })
  const id = await create(receiver.url, { types: ['AGENT_CREATED'] })
  const { db } = h.app.services
  let lost = 0
  aroundStatements(db, async ({ text, execute }) => {
    const result = await execute()
    if (text.includes('with c as (update webhook_cursors') && lost++ < 3) throw new ConnectionLostError()
    return result
  })
  const names = Array.from({ length: 12 }, (_, i) => `a${i}`)
  await agents(names)
  const seen = () => new Set(receiver!.received.map(({ data }) => data['name'] as string))
  await receiver.until(() => seen().size === names.length)
  await expect.poll(async () => (await placeOf(id)).status).toBe('IDLE')
  expect(lost).toBeGreaterThan(0)
})
