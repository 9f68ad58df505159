/**
 * A log that is restored to an earlier state: subscribers that received lost events get an error, and cursors to
 * continue from.
 */
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ask } from '../support/ask.ts'
import { hasClusters, startCluster, type Cluster } from '../support/cluster.ts'
import { followFeed, type FeedReader } from '../support/feed-readers.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { append, makeGenerations, someEvents } from '../support/log-writer.ts'

let cluster: Cluster
let backup: string
let h: Harness
let projectId: string
let id: string
/** Cursors of the feed and of the generation's stream, from before the backup and from after it. */
const feed: string[] = []
const stream: string[] = []
const before = 5
const lost = 4
const closers: (() => unknown)[] = []

const open = async () => {
  h = await openHarness({ role: 'api', databaseUrl: cluster.url, databasePool: 4 })
  projectId = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
}
const write = (count: number) => append(h.app.services, projectId, id, someEvents(count))

const page = `query($id: ID!, $after: String) { generation(id: $id) { events(after: $after, first: 100) { nodes { cursor } } } }`
const polled = (after: string | null) => ask(h.url, adminKey, page, { id, after })
const cursorsOf = (answer: Awaited<ReturnType<typeof polled>>) =>
  (answer.data!['generation'].events.nodes as { cursor: string }[]).map(({ cursor }) => cursor)

/** The first message of a generation's subscription, over graphql-ws. */
function firstOverSocket(document: string, variables: Record<string, unknown>): Promise<any> {
  const client = createClient({
    url: `${h.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${adminKey}` },
  })
  return new Promise((resolve) => {
    client.subscribe(
      { query: document, variables },
      {
        next: (result) => resolve(result.errors ? { errors: result.errors } : result.data),
        error: (error) => resolve({ errors: error }),
        complete: () => resolve('complete'),
      },
    )
  }).finally(() => client.dispose())
}

/** The same over server-sent events. */
async function firstOverSse(document: string, variables: object): Promise<any> {
  const response = await fetch(`${h.url}/graphql`, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${adminKey}`,
    },
    body: JSON.stringify({ query: document, variables }),
  })
  const reader = response.body!.getReader()
  for (let text = ''; ;) {
    const { value, done } = await reader.read()
    if (done) return 'complete'
    text += Buffer.from(value).toString()
    const data = /^data: (\{.*\})$/m.exec(text)?.[1]
    if (!data) continue
    await reader.cancel()
    const result = JSON.parse(data)
    return result.errors ? { errors: result.errors } : result.data
  }
}

const feedDocument = `subscription($after: String) { projectEvents(after: $after) { cursor } }`
const streamDocument = `subscription($id: ID!, $after: String) { generationEvents(generationId: $id, after: $after) { cursor } }`
const wires = [
  ['graphql-ws', firstOverSocket],
  ['SSE', firstOverSse],
] as const

beforeAll(async () => {
  if (!hasClusters) return
  cluster = await startCluster()
  closers.push(() => cluster.remove())
  await open()
  ;[id] = (await makeGenerations(h.app.services.db, projectId, 1)) as [string]
  const reader = followFeed({ url: h.url, key: adminKey, after: '0' })
  await write(before)
  await reader.until(before)
  backup = await cluster.baseBackup()
  await write(lost)
  await reader.until(before + lost)
  await reader.close()
  feed.push(...reader.told.map(({ cursor }) => cursor))
  stream.push(...cursorsOf(await polled(null)))
}, 360_000)
afterAll(async () => {
  await h?.stop()
  for (const close of closers.toReversed()) await close()
})

describe.skipIf(!hasClusters)('after the restore of a backup', () => {
  let living: FeedReader
  beforeAll(async () => {
    // The server keeps running, as through a failover; one client is in the middle of the feed.
    living = followFeed({ url: h.url, key: adminKey, after: feed.at(-1)!, onError: () => null })
    closers.push(() => living.close())
    await vi.waitUntil(() => h.app.services.broadcaster.topicCount() === 1, { timeout: 90_000 })
    await cluster.stop('immediate')
    await cluster.restore(backup)
  }, 180_000)

  test('a connected subscriber gets CURSOR_EXPIRED for its lost position, once something new is written', async () => {
    // The ids and positions of the lost events are assigned again.
    await expect.poll(() => write(lost)).toBe(before + lost)
    await expect.poll(() => living.errors.length).toBeGreaterThan(0)
    expect(living.errors.at(-1)!.extensions).toMatchObject({ code: 'CURSOR_EXPIRED' })
    expect(living.told).toEqual([])
  })

  describe.each(wires)('over %s', (_name, first) => {
    test.each([
      ['the feed', feedDocument, () => feed],
      ['a generation', streamDocument, () => stream],
    ] as const)(
      'a cursor of a lost event of %s is refused before the first event',
      async (name, document, cursors) => {
        for (const cursor of cursors().slice(before)) {
          const { errors } = await first(document, { id, after: cursor })
          expect(errors[0].extensions).toMatchObject({ code: 'CURSOR_EXPIRED', oldestCursor: '0' })
          const after = errors[0].extensions.newestCursor
          // The cursor of the error works: no event is before it, and later ones are delivered.
          const next = first(document, { id, after })
          await write(1)
          const told = Object.values(await next)[0] as { cursor: string }
          expect(told.cursor).toBeTruthy()
          const all = await first(document, { id, after: errors[0].extensions.oldestCursor })
          expect((Object.values(all)[0] as { cursor: string }).cursor).toBe(cursors()[0])
          expect(name).toBeTruthy()
        }
      },
    )

    test.each([
      ['the feed', feedDocument, () => feed],
      ['a generation', streamDocument, () => stream],
    ] as const)(
      'a cursor of %s whose event still exists continues with the next one',
      async (_what, document, cursors) => {
        for (const [i, cursor] of cursors()
          .slice(0, before - 1)
          .entries()) {
          const told = Object.values(await first(document, { id, after: cursor }))[0] as { cursor: string }
          expect(told.cursor).toBe(cursors()[i + 1])
        }
      },
    )
  })

  test('a polling client with a cursor of a lost event is refused, and one whose event exists continues', async () => {
    const lostPoll = await polled(stream.at(-1)!)
    const { extensions } = (lostPoll as unknown as { errors: { extensions: Record<string, string> }[] })
      .errors[0]!
    expect(extensions).toMatchObject({ code: 'CURSOR_EXPIRED', oldestCursor: '0' })
    expect(cursorsOf(await polled(extensions['newestCursor']!))).toEqual([])
    expect(cursorsOf(await polled('0')).slice(0, before)).toEqual(stream.slice(0, before))
    const rest = cursorsOf(await polled(stream[before - 1]!))
    expect(rest.length).toBeGreaterThanOrEqual(lost)
    expect(rest.filter((cursor) => stream.includes(cursor))).toEqual([])
  })
})
