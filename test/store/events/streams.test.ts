/** A writer at full speed, readers of three kinds, and somebody who cuts every wire: nobody misses an event. */
import { Redis } from 'ioredis'
import postgres from 'postgres'
import type { WebSocket } from 'ws'
import { afterEach, describe, expect, test } from 'vitest'
import { beginning, encodeGenerationCursor } from '../../../src/store/events/position.ts'
import { readGeneration } from '../../../src/store/events/read.ts'
import { startCuttable } from '../../support/cuttable.ts'
import { hasPostgres, hasRedis, postgresDatabase } from '../../support/databases.ts'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { append, makeGenerations, someEvents } from '../../support/log-writer.ts'
import { readByPolling, readBySocket, readBySse, type Reader } from '../../support/readers.ts'
import { cutRedis, ownRedis } from '../../support/redis-cut.ts'
import { randomSchedule } from '../../support/random.ts'

const random = randomSchedule()

const readers: [string, Reader][] = [
  ['graphql-ws', readBySocket],
  ['SSE', readBySse],
  ['polling', readByPolling],
]
const streams = 3
const eventsPerStream = 250
/** The longest pause between two cuts. */
const cutMs = 150

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function harness(config: Parameters<typeof openHarness>[0]): Promise<Harness> {
  const h = await openHarness({ role: 'api', ...config })
  closers.push(() => h.stop())
  return h
}

async function database() {
  const made = await postgresDatabase()
  closers.push(() => made.drop())
  return made
}

/** Appends until every stream has its length. A failed commit is left as it is: the table says what became true. */
async function writeAll(writer: Harness, projectId: string, ids: string[]): Promise<void> {
  const desk = writer.app.services
  await Promise.all(
    ids.map(async (id) => {
      for (let written = 0; written < eventsPerStream;) {
        const count = 1 + Math.floor(random() * 3)
        await append(desk, projectId, id, someEvents(count)).catch(() => {})
        written += count
        // The embedded database would leave no room for sockets and timers.
        await new Promise((resolve) => setImmediate(resolve))
      }
      for (let closed = false; !closed;)
        closed = await append(desk, projectId, id, someEvents(1, true)).then(
          () => true,
          () => false,
        )
    }),
  )
}

/** Through a server whose connections nobody ends any more; the first tries may still meet one that is gone. */
async function truthOf(h: Harness, id: string): Promise<string[]> {
  for (let tries = 1; ; tries++) {
    const cursors = await cursorsInTable(h, id).catch((error: unknown) => {
      if (tries >= 20) throw error
      return null
    })
    if (cursors) return cursors
  }
}

async function cursorsInTable(h: Harness, id: string): Promise<string[]> {
  const { events } = await readGeneration(h.app.services.db, id, beginning, 100_000)
  return events.map(encodeGenerationCursor)
}

/** Writes through one server, reads through another by a wire that is cut, and compares with the table. */
async function follow(writer: Harness, server: Harness, more: () => Promise<unknown> = async () => {}) {
  const wire = await startCuttable(server.url)
  closers.push(() => wire.close())
  const { data } = await server.gql('{ viewer { project { id } } }')
  const projectId = data['viewer'].project.id
  const ids = await makeGenerations(writer.app.services.db, projectId, streams)
  const abort = new AbortController()
  const following = ids.flatMap((generationId) =>
    readers.map(([, read]) => read({ url: wire.url, key: adminKey, generationId, signal: abort.signal })),
  )
  closers.push(() => abort.abort())
  let cuts = 0
  let writing = true
  const cutting = (async () => {
    while (writing) {
      await new Promise((resolve) => setTimeout(resolve, random() * cutMs))
      cuts += wire.cut()
      await more()
    }
  })()
  await writeAll(writer, projectId, ids)
  writing = false
  await cutting
  const told = await Promise.all(following)
  for (const [i, id] of ids.entries()) {
    const truth = await truthOf(writer, id)
    expect(truth.length).toBeGreaterThan(eventsPerStream / 2)
    for (const [j, [name]] of readers.entries())
      expect(told[i * readers.length + j], `${name}, stream ${i}`).toEqual(truth)
  }
  expect(cuts).toBeGreaterThan(3)
  await expect
    .poll(() => server.app.services.broadcaster.topicCount(), {
      message: 'streams left behind',
      timeout: 5000,
    })
    .toBe(0)
  return cuts
}

test('in one process, clients whose sockets are cut at random end with the exact sequence', async () => {
  const h = await harness({ role: 'all' })
  await follow(h, h)
})

test('a socket that does not read delays no other, and gets the exact sequence when it reads again', async () => {
  const h = await harness({ role: 'api' })
  const { data } = await h.gql('{ viewer { project { id } } }')
  const projectId = data['viewer'].project.id
  const [generationId] = await makeGenerations(h.app.services.db, projectId, 1)
  const desk = h.app.services
  const opened: WebSocket[] = []
  const still = h.client(adminKey, { on: { opened: (socket: WebSocket) => opened.push(socket) } })
  const cursors: string[] = []
  const query =
    'subscription($id: ID!) { generationEvents(generationId: $id) { type cursor generationId at } }'
  const ended = new Promise<void>((resolve, reject) => {
    still.subscribe<{ generationEvents: { cursor: string } }>(
      { query, variables: { id: generationId } },
      {
        next: ({ data: told }) => {
          cursors.push(told!.generationEvents.cursor)
          if (cursors.length === 1) opened[0]!.pause()
        },
        error: reject,
        complete: resolve,
      },
    )
  })
  await append(desk, projectId, generationId!, someEvents(1))
  await expect.poll(() => cursors.length).toBe(1)
  const reader = {
    url: h.url,
    key: adminKey,
    generationId: generationId!,
    signal: AbortSignal.timeout(100_000),
  }
  const quick = readBySocket(reader)
  for (let i = 0; i < 60; i++) await append(desk, projectId, generationId!, someEvents(100))
  await append(desk, projectId, generationId!, someEvents(1, true))
  const truth = await cursorsInTable(h, generationId!)
  expect(await quick).toEqual(truth)
  expect(cursors.length, 'it really stood still').toBeLessThan(truth.length / 2)
  opened[0]!.resume()
  await ended
  expect(cursors).toEqual(truth)
})

describe.skipIf(!hasPostgres)('on PostgreSQL, written by one process and read through another', () => {
  test('clients whose sockets are cut end with the exact sequence', async () => {
    const { url } = await database()
    const writer = await harness({ databaseUrl: url })
    await follow(writer, await harness({ databaseUrl: url }))
  })

  test('with every hint lost the backstop brings each event', async () => {
    const { url } = await database()
    const writer = await harness({ databaseUrl: url })
    // Published over PostgreSQL, subscribed over Redis: no hint arrives.
    const server = hasRedis
      ? await harness({ databaseUrl: url, redisUrl: ownRedis() })
      : await harness({ databaseUrl: url })
    if (!hasRedis) server.app.services.pubsub.subscribe = () => () => {}
    await follow(writer, server)
  })

  test('with database connections ended at random clients end with the exact sequence', async () => {
    const { url } = await database()
    const writer = await harness({ databaseUrl: url })
    const server = await harness({ databaseUrl: url })
    const admin = postgres(url, { max: 1, onnotice: () => {} })
    closers.push(() => admin.end({ timeout: 1 }))
    let ended = 0
    await follow(writer, server, async () => {
      const rows = await admin`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and random() < 0.3`
      ended += rows.length
    })
    expect(ended, 'connections that were ended').toBeGreaterThan(5)
  })

  test.skipIf(!hasRedis)(
    'with the connections to Redis killed clients end with the exact sequence',
    async () => {
      const { url } = await database()
      const redisUrl = ownRedis()
      const writer = await harness({ databaseUrl: url, redisUrl })
      const server = await harness({ databaseUrl: url, redisUrl })
      const admin = new Redis(redisUrl)
      closers.push(() => admin.disconnect())
      let killed = 0
      await follow(writer, server, async () => (killed += await cutRedis(admin)))
      expect(killed, 'connections that were killed').toBeGreaterThan(5)
    },
  )
})
