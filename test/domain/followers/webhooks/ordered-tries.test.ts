/**
 * An ordered endpoint over any schedule of refusals: its events come in order, each until it is accepted or dead after its
 * own tries with its own waits, whatever became of those before it. The real rounds on the real databases; time passes in
 * the rows. A failure prints its path; CHAOS_SEED and CHAOS_PATH repeat it.
 */
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { momentNow } from '../../../../src/core/time.ts'
import { follow as deliver } from '../../../../src/domain/followers/follower.ts'
import { claimPlaces } from '../../../../src/domain/followers/place.ts'
import { cursors, webhookFollower } from '../../../../src/domain/followers/webhooks/deliver.ts'
import { retryDelayMs } from '../../../../src/domain/followers/webhooks/send.ts'
import { query } from '../../../../src/store/db/database.ts'
import { heartbeat } from '../../../../src/store/work/work.ts'
import { databaseKinds, postgresDatabase } from '../../../support/databases.ts'
import { dose } from '../../../support/dose.ts'
import { openHarness, type Harness } from '../../../support/harness.ts'
import { accept, openReceiver, type Receiver } from '../../../support/webhook-receiver.ts'
import { chaosSeed, drawn } from '../../../support/random.ts'

const path = process.env['CHAOS_PATH']
/** An answer that is no success. `askedMs`: what it asks for with Retry-After. */
type Refusal = { is: 'status'; status: number } | { is: 'asked'; askedMs: number } | { is: 'cut' }

const refusal: fc.Arbitrary<Refusal> = fc.oneof(
  fc.record({ is: fc.constant('status' as const), status: fc.constantFrom(500, 404, 301) }),
  fc.record({
    is: fc.constant('asked' as const),
    askedMs: fc.integer({ min: 0, max: 86_400 }).map((s) => s * 1000),
  }),
  fc.record({ is: fc.constant('cut' as const) }),
)
/** How an event is received, in order, before it is accepted; and whether it is made while the endpoint is stuck. */
const anyEvent = fc.record({
  refusals: fc.oneof(
    fc.constant([]),
    fc.array(refusal, { maxLength: 3 }),
    fc.array(refusal, { minLength: 5, maxLength: 8 }),
  ),
  isLate: fc.boolean(),
})
type Planned = typeof anyEvent extends fc.Arbitrary<infer One> ? One : never

/** After this many refusals an event is dead. */
const mostTries = 7
const isDead = ({ refusals }: Planned) => refusals.length >= mostTries
const requestsFor = (one: Planned) => (isDead(one) ? mostTries : one.refusals.length + 1)

describe.each(drawn(databaseKinds))('on %s', (kind) => {
  let h: Harness
  let receiver: Receiver
  let drop: () => Promise<void>
  beforeAll(async () => {
    const postgres = kind === 'PostgreSQL' ? await postgresDatabase() : null
    drop = async () => postgres?.drop()
    receiver = await openReceiver()
    // No worker of its own: the test runs each round.
    h = await openHarness({ role: 'api', databaseUrl: postgres?.url ?? null })
  })
  afterAll(async () => {
    await h?.stop()
    await receiver?.close()
    await drop?.()
  })

  const rows = <Row>(statement: ReturnType<typeof sql>) => query<Row>(h.app.services.db, statement)
  let count = 0

  /** Gives the cursor to this process when it is due, and sends until there is nothing to send now. */
  async function sendWhatIsDue(): Promise<boolean> {
    const { services } = h.app
    await services.db.execute(sql`select number_waiting_events(true, 2000)`)
    const since = momentNow()
    const [claimed] = await claimPlaces(services.leaseDb, cursors, 60_000, { limit: 1, except: [] })
    if (!claimed) return false
    const held = { ...claimed }
    const lease = services.heartbeat.of('webhook_cursors').keep(claimed, since)
    const follower = webhookFollower(services, { delivered: 0, failed: 0, dead: 0 })
    try {
      await deliver(services, follower, held, { lease, signal: lease.signal, isDraining: () => false })
      // One that was sent before the cursor was given back, and arrives after it.
      await heartbeat(services.leaseDb, 'webhook_cursors', 15_000, [held])
    } finally {
      lease.end()
    }
    return true
  }

  /** For how long the endpoint is sent nothing since its newest refusal, in milliseconds; null: it does not wait. */
  async function waitOf(id: string): Promise<number | null> {
    const [row] = await rows<{ ms: number }>(
      sql`select (extract(epoch from c.wake_at - max(d.updated_at)) * 1000)::float8 as ms
        from webhook_cursors as c
        join webhook_deliveries as d on d.webhook_id = c.webhook_id
        where c.id = ${id} and c.status = 'WAITING'
        group by c.wake_at`,
    )
    return row ? Math.round(row.ms) : null
  }

  async function follow(plan: readonly Planned[]): Promise<void> {
    const prefix = `${kind} ${++count}`
    const names = plan.map((_one, i) => `${prefix} ${i}`)
    const seen = new Map<string, number>()
    const answered: { name: string; refusal: Refusal | null }[] = []
    receiver.respond = (got, response) => {
      const name = got.data['name'] as string
      const tries = seen.get(name) ?? 0
      seen.set(name, tries + 1)
      const refused = plan[names.indexOf(name)]?.refusals[tries] ?? null
      answered.push({ name, refusal: refused })
      if (refused) refuse(refused, response)
      else accept(got, response)
    }
    receiver.received.length = 0
    const made = await h.mutate(
      'createWebhook',
      { url: `${receiver.url}/${count}`, types: ['AGENT_CREATED'], ordered: true },
      'secret webhook { id }',
    )
    receiver.secret = made['secret']
    const id = made['webhook'].id as string
    try {
      const create = async (isLate: boolean) => {
        for (const [i, one] of plan.entries())
          if (one.isLate === isLate) await h.mutate('createAgent', { name: names[i]! }, '__typename')
      }
      await create(false)
      let hasAll = false
      for (;;) {
        const sent = await sendWhatIsDue()
        const waits = await waitOf(id)
        if (waits !== null) checkWait(answered, waits)
        if (!hasAll) await create(true)
        else if (!sent && waits === null) break
        hasAll = true
        // The column has whole milliseconds: rounded up, the present would not be due yet.
        if (waits !== null)
          await rows(
            sql`update webhook_cursors set wake_at = now() - interval '1 millisecond' where id = ${id}`,
          )
      }
      // In the order in which they were made, which is the order of the log.
      const inOrder = [false, true].flatMap((isLate) =>
        plan.flatMap((one, i) => (one.isLate === isLate ? [{ ...one, name: names[i]! }] : [])),
      )
      expect(receiver.received.map(({ data }) => data['name'])).toEqual(
        inOrder.flatMap((one) => Array.from({ length: requestsFor(one) }, () => one.name)),
      )
      const ids = new Map(receiver.received.map(({ data, id: message }) => [message, data['name']]))
      expect([...ids.values()], 'one id for each event').toEqual(inOrder.map(({ name }) => name))
      const kept = await rows(
        sql`select e.data->>'name' as name, d.status, d.tries, d.attempts, d.next_at as "nextAt"
          from webhook_deliveries as d
          join events as e on e.id = d.event_id
          where d.webhook_id = ${id}
          order by e.position`,
      )
      expect(kept).toEqual(
        inOrder
          .filter(({ refusals }) => refusals.length > 0)
          .map((one) => ({
            name: one.name,
            status: isDead(one) ? 'DEAD' : 'DELIVERED',
            tries: Math.min(one.refusals.length, mostTries),
            attempts: requestsFor(one),
            nextAt: null,
          })),
      )
      expect(receiver.refused).toEqual([])
    } finally {
      await h.mutate('deleteWebhook', { webhookId: id }, '__typename')
      receiver.refused.length = 0
    }
  }

  test(
    'each event has its own tries and waits, in order, whatever is refused',
    { timeout: 180_000 + dose(1, 40) * 30_000 },
    async () => {
      await fc.assert(fc.asyncProperty(fc.array(anyEvent, { minLength: 1, maxLength: 5 }), follow), {
        seed: chaosSeed,
        numRuns: dose(20, 500),
        ...(path ? { path } : {}),
      })
    },
  )
})

function refuse(refused: Refusal, response: ServerResponse): void {
  if (refused.is === 'status') response.writeHead(refused.status).end()
  else if (refused.is === 'asked')
    response.writeHead(429, { 'retry-after': String(refused.askedMs / 1000) }).end()
  // Something of a response has come, so that the request is not sent again by itself.
  else response.writeHead(200, { 'content-length': '5' }).write('a', () => response.destroy())
}

/** The wait is that of the newest event after as many refusals as it has had itself, or longer where it asked. */
function checkWait(answered: readonly { name: string; refusal: Refusal | null }[], waits: number): void {
  const { name, refusal: newest } = answered.at(-1)!
  const own = answered.filter((one) => one.name === name).length
  const askedMs = newest?.is === 'asked' ? newest.askedMs : null
  const bound = (random: number) => retryDelayMs(own, askedMs, () => random) ?? askedMs ?? -1
  expect(waits, `${name}, ${own} refusals`).toBeGreaterThanOrEqual(Math.floor(bound(0)))
  expect(waits, `${name}, ${own} refusals`).toBeLessThanOrEqual(Math.ceil(bound(1)))
}
