/** Three replicas deliver to webhooks while events flow and replicas are killed, or frozen until their leases have ended. */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentCreated, appendProjectEvents } from '../../src/domain/events/index.ts'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { query } from '../../src/store/db/database.ts'
import { buildServer } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { dose } from '../support/dose.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { accept, openReceiver, type Receiver } from '../support/webhook-receiver.ts'

const events = dose(1500, 10_000)
const strikes = dose(5, 15)
const leaseMs = 1500
const key = 'gh_chaos_operator_012345678901234567890123456789012'
const closers: (() => unknown)[] = []
let entry: string
let database: { url: string }
let connection: Connection

beforeAll(async () => {
  if (!hasPostgres) return
  const [server, made] = await Promise.all([buildServer(), postgresDatabase()])
  entry = server.entry
  database = made
  closers.push(() => made.drop())
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

function start(): Replica {
  return startReplica(entry, {
    DATABASE_URL: database.url,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_LEASE_MS: String(leaseMs),
    GATEHOUSE_EGRESS_ALLOW_PRIVATE: 'true',
    GATEHOUSE_WEBHOOK_TIMEOUT_MS: '2000',
    GATEHOUSE_LOG_LEVEL: 'error',
  })
}

async function createWebhook(url: string, more: object): Promise<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({
      query: `mutation($i: CreateWebhookInput!) { createWebhook(input: $i) {
        ... on WebhookPayload { secret webhook { id projectId: createdBy } } ... on Error { message } } }`,
      variables: { i: { types: ['AGENT_CREATED'], ...more } },
    }),
  })
  const { data } = (await response.json()) as { data: Record<string, any> }
  return data['createWebhook'].secret
}

const numbersIn = ({ received }: Receiver) => received.map(({ data }) => data['version'] as number)

/** Some answers fail, so that there are retries as well. */
async function openAll() {
  const flaky = (of: Receiver) => (response: Parameters<typeof accept>[1]) =>
    of.received.length % 97 === 96 ? response.writeHead(500).end() : void response.writeHead(204).end()
  const plain = await openReceiver()
  plain.respond = (_got, response) => void flaky(plain)(response)
  const ordered = await openReceiver()
  const hanging = await openReceiver(() => {})
  closers.push(() => Promise.all([plain, ordered, hanging].map((one) => one.close())))
  return { plain, ordered, hanging }
}

test.skipIf(!hasPostgres)(
  'no endpoint misses an event while replicas are killed and frozen, and ordered ones get them in order',
  { timeout: 900_000 },
  async () => {
    const replicas = [start(), start(), start()]
    closers.push(() => Promise.all(replicas.map((one) => one.kill())))
    await Promise.all(replicas.map((one) => one.ready))
    connection = await connect({ kind: 'postgres', url: database.url, poolSize: 4 })
    closers.push(() => connection.close())
    const { db } = connection
    const { plain, ordered, hanging } = await openAll()
    const url = replicas[0]!.url
    plain.secret = await createWebhook(url, { url: plain.url })
    ordered.secret = await createWebhook(url, { url: ordered.url, ordered: true })
    hanging.secret = await createWebhook(url, { url: hanging.url })
    const [project] = await query<{ id: string }>(db, sql`select id from projects limit 1`)

    let written = 0
    const write = (async () => {
      while (written < events) {
        const batch = Array.from({ length: Math.min(10, events - written) }, () =>
          agentCreated({ agentId: 'agt_1', name: 'n', version: ++written }),
        )
        await appendProjectEvents(db, project!.id, batch)
        await pause(15)
      }
    })()
    const watched = watchPlaces(db)
    const storm = await strike(replicas, () => written >= events)
    await write
    await soon(db, () => plain, ordered)
    const moves = await watched.stop()
    console.log('webhooks in a storm', {
      events,
      ...storm,
      moves,
      sent: [plain, ordered, hanging].map((one) => one.received.length),
    })

    const all = Array.from({ length: events }, (_, i) => i + 1)
    expect(
      [...new Set(numbersIn(plain))].toSorted((a, b) => a - b),
      'every event',
    ).toEqual(all)
    let newest = 0
    for (const number of numbersIn(ordered)) {
      expect(number, 'no event before the one that precedes it').toBeLessThanOrEqual(newest + 1)
      newest = Math.max(newest, number)
    }
    expect(newest).toBe(events)
    expect([plain, ordered, hanging].flatMap((one) => one.refused)).toEqual([])
    expect(storm.kills).toBeGreaterThan(0)
    expect(storm.freezes).toBeGreaterThan(0)
    expect(watched.backwards(), 'no frozen process moved a place back').toEqual([])
  },
)

/** Retries are due in seconds, or in minutes: they are made due at once until everything has arrived. */
async function soon(db: Connection['db'], plain: () => Receiver, ordered: Receiver): Promise<void> {
  const arrived = async () => {
    await query(db, sql`update webhook_deliveries set next_at = now() where next_at > now()`)
    await query(
      db,
      sql`update webhook_cursors set asked = asked + 1, wake_at = now() where status in ('IDLE', 'WAITING')`,
    )
    return [plain(), ordered].map((receiver) => new Set(numbersIn(receiver)).size)
  }
  await expect.poll(arrived, { interval: 500, timeout: 360_000 }).toEqual([events, events])
}

/** Looks at the places of all cursors again and again: none may move back. */
function watchPlaces(db: Connection['db']) {
  const last = new Map<string, number>()
  const back: string[] = []
  let moves = 0
  let stopped = false
  const done = (async () => {
    while (!stopped) {
      const rows = await query<{ id: string; at: number }>(
        db,
        sql`select id, at::float8 as at from webhook_cursors`,
      )
      for (const { id, at } of rows) {
        const before = last.get(id) ?? 0
        if (at < before) back.push(`${id}: ${before} -> ${at}`)
        if (at !== before) moves++
        last.set(id, at)
      }
      await pause(20)
    }
  })()
  return {
    backwards: () => back,
    async stop() {
      stopped = true
      await done
      return moves
    },
  }
}

/** Kills one and starts another, or freezes one for longer than its lease; one replica always runs. */
async function strike(replicas: Replica[], isOver: () => boolean) {
  const storm = { kills: 0, freezes: 0 }
  for (let n = 0; n < strikes; n++) {
    await pause(600)
    const i = n % replicas.length
    const replica = replicas[i]!
    if (n % 2 === 0) {
      storm.kills++
      await replica.kill()
      replicas[i] = start()
      await replicas[i]!.ready
    } else {
      storm.freezes++
      replica.freeze()
      await pause(leaseMs * 2)
      replica.thaw()
    }
    if (isOver() && n > 3) break
  }
  return storm
}
