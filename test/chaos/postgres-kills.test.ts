/** PostgreSQL is killed repeatedly while events are written: every subscriber gets all of them, once, in one order. */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { insertGenerationEvents } from '../../src/store/events/log.ts'
import { hasClusters, startCluster, type Cluster } from '../support/cluster.ts'
import { dose } from '../support/dose.ts'
import { followFeed } from '../support/feed-readers.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { makeGenerations, someEvents } from '../support/log-writer.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()

const kills = dose(6, 30)
const writers = 6
let cluster: Cluster
const closers: (() => unknown)[] = []

beforeAll(async () => {
  if (!hasClusters) return
  cluster = await startCluster()
  closers.push(() => cluster.remove())
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

/** Repeats the work while the database is unreachable. */
async function again<T>(work: () => PromiseLike<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries >= 200) throw error
      await pause(50)
    }
  }
}

const ways = [
  ['a backend killed', () => cluster.killBackend(random)],
  ['the server killed', () => cluster.kill9().then(() => cluster.restart())],
  ['stopped at once', () => cluster.stop('immediate').then(() => cluster.restart())],
] as const

/**
 * Writes until `over`: short transactions, long ones, and some that are rolled back. A failed commit is not repeated.
 */
async function write(h: Harness, projectId: string, id: string, over: () => boolean): Promise<void> {
  const { db } = h.app.services
  while (!over()) {
    const events = someEvents(1 + Math.floor(random() * 3))
    const roll = random()
    // One statement each: its transaction lasts as long as it sleeps.
    const sleep = roll < 0.7 ? 0 : random() / 50
    const end = roll < 0.9 ? sql`1` : sql`1 / (g.last_seq - g.last_seq)`
    await query(
      db,
      sql`with g as (update generations set last_seq = last_seq + ${events.length}::int where id = ${id}
          returning id, project_id, requested_by, last_seq), e as (${insertGenerationEvents(events)})
        select ${end} as one from g, pg_sleep(${sleep}::float8)`,
    ).then(
      () => h.app.services.pubsub.publish([{ kind: 'news', generationId: id, projectId, seq: null }]),
      () => pause(10),
    )
  }
}

/**
 * Transactions that never commit, while nothing else is written, and a hint to read: after a crash, PostgreSQL
 * assigns their ids again, below what a reader has already read.
 */
async function abandon(h: Harness, projectId: string): Promise<void> {
  for (let i = 0; i < 30; i++)
    await query(
      h.app.services.db,
      sql`with e as (insert into idempotency_keys (project_id, principal_id, operation, key, request_hash, result_id, expires_at)
          values ('none', 'none', 'none', ${String(i)}, '', '', now()) returning key)
        select 1 / (length(e.key) - length(e.key)) from e`,
    ).catch(() => {})
  h.app.services.pubsub.publish([{ kind: 'news', generationId: null, projectId, seq: null }])
  await pause(50)
}

test.skipIf(!hasClusters)(
  'no event is missing, none is doubled, and all subscribers get the same order',
  { timeout: 360_000 + kills * 10_000 },
  async () => {
    const replicas = await Promise.all(
      [1, 2].map(() => openHarness({ role: 'api', databaseUrl: cluster.url })),
    )
    closers.push(() => Promise.all(replicas.map((one) => one.stop())))
    const projectId = (await replicas[0]!.gql('{ viewer { project { id } } }')).data['viewer'].project.id
    const ids = await makeGenerations(replicas[0]!.app.services.db, projectId, writers)
    const readers = replicas.flatMap(({ url }) =>
      [undefined, ['MESSAGE_COMMITTED']].map((types) =>
        followFeed({ url, key: adminKey, after: '0', ...(types ? { types } : {}) }),
      ),
    )
    closers.push(() => Promise.all(readers.map((reader) => reader.close())))

    let writing = false
    let writes: Promise<unknown> = Promise.resolve()
    const writeAll = () => {
      writing = true
      writes = Promise.all(ids.map((id, i) => write(replicas[i % 2]!, projectId, id, () => !writing)))
    }
    const rest = async () => {
      writing = false
      await writes
    }
    writeAll()
    const done: Record<string, number> = {}
    for (let i = 0; i < kills; i++) {
      await pause(300 + random() * 400)
      // Every other time during the writes, else when everything is delivered.
      const quiet = i % 2 === 0
      if (quiet) await rest().then(() => abandon(replicas[0]!, projectId))
      const [way, strike] = ways[i % ways.length]!
      if ((await strike()) !== false) done[way] = (done[way] ?? 0) + 1
      if (quiet) writeAll()
      // The next kill meets a server under load.
      const before = readers[0]!.told.length
      await expect.poll(() => readers[0]!.told.length).toBeGreaterThan(before + 20)
    }
    await rest()

    const reader = postgres(cluster.url, { max: 1, onnotice: () => {} })
    closers.push(() => reader.end({ timeout: 1 }))
    const [{ n }] = (await again(
      () => reader`select count(*)::int as n from events
      where project_id = ${projectId} and type = 'MESSAGE_COMMITTED'`,
    )) as unknown as [{ n: number }]
    const toldBy = readers.map(
      ({ told }) =>
        () =>
          told.filter((one) => one.type === 'MESSAGE_COMMITTED'),
    )
    for (const [i, told] of toldBy.entries())
      await expect
        .poll(() => told().length, { timeout: 90_000, message: `reader ${i}` })
        .toBeGreaterThanOrEqual(n)
    const truth = await reader<{ place: string }[]>`select generation_id || '/' || seq as place from events
      where project_id = ${projectId} and type = 'MESSAGE_COMMITTED' order by position`
    for (const told of toldBy) expect(told().map(placeOf)).toEqual(truth.map(({ place }) => place))
    const inOrder =
      await reader`select 1 from (select position, lag(position) over (partition by generation_id order by seq) as before
      from events where project_id = ${projectId}) as pairs where position < before`
    expect(inOrder, 'events of a generation out of their order').toHaveLength(0)
    console.log('PostgreSQL killed under load', { ...done, events: n, subscribers: readers.length })
    expect(Object.values(done).reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(kills - 1)
  },
)

/** The number of the event in its generation's log, from its cursor. */
function placeOf({ cursor }: { cursor: string }): string {
  const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
  return `${String(parts[2])}/${String(parts[3])}`
}
