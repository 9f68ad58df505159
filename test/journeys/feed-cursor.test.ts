/** Clients of the log: a snapshot joined to the feed, a run that has ended, two replicas, and the metrics. */
import postgres from 'postgres'
import { afterAll, describe, expect, test } from 'vitest'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { followFeed } from '../support/feed-readers.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { append, makeGenerations, someEvents } from '../support/log-writer.ts'
import { forFile } from '../support/for-file.ts'

const closers: (() => unknown)[] = []
const h = await forFile(openHarness({ role: 'api' }))
const projectId: string = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

/** The generation and seq that a cursor contains. */
function placeOf({ cursor }: { cursor: string }): { id: string; seq: number } {
  const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
  return { id: parts[2] as string, seq: parts[3] as number }
}

const snapshot = `query($project: ID!, $id: ID!) {
  generation(id: $id) { events(first: 100) { nodes { cursor } } }
  project(id: $project) { feedCursor } }`

describe('feedCursor', () => {
  test('returns what comes after it and nothing older', async () => {
    const [id] = await makeGenerations(h.app.services.db, projectId, 1)
    await append(h.app.services, projectId, id!, someEvents(3))
    const { data } = await h.gql(snapshot, { project: projectId, id })
    expect(data['generation'].events.nodes).toHaveLength(3)
    const reader = followFeed({ url: h.url, key: adminKey, after: data['project'].feedCursor })
    await append(h.app.services, projectId, id!, someEvents(2))
    await reader.until(2)
    await reader.close()
    expect(reader.told.map(placeOf)).toEqual([4, 5].map((seq) => ({ id, seq })))
  })

  test('of a project without events is the beginning', async () => {
    const { project } = await h.mutate('createProject', { name: 'empty' }, 'project { id feedCursor }')
    expect(project.feedCursor).toBe('0')
  })

  test('needs the permission of projectEvents, and the rest of the response is complete without it', async () => {
    const policy = { statement: [{ effect: 'Allow', action: ['projects:Get'], resource: ['*'] }] }
    const { secret } = await h.mutate('createApiKey', { name: 'reader', policy }, 'secret')
    const { data, errors } = await h.gql('{ viewer { project { id feedCursor } } }', {}, secret)
    expect(data['viewer'].project).toEqual({ id: projectId, feedCursor: null })
    expect(errors![0]!.extensions).toMatchObject({ code: 'FORBIDDEN', action: 'events:Subscribe' })
  })
})

test('following an ended run again from its last cursor ends at once, over a socket and over SSE', async () => {
  const [id] = await makeGenerations(h.app.services.db, projectId, 1)
  await append(h.app.services, projectId, id!, someEvents(3, true))
  const document = `subscription($id: ID!, $after: String) { generationEvents(generationId: $id, after: $after) { cursor } }`
  const all = await h.collect(document, { id })
  expect(all).toHaveLength(3)
  const after = all.at(-1).cursor
  expect(await h.collect(document, { id, after })).toEqual([])
  const response = await fetch(`${h.url}/graphql`, {
    method: 'POST',
    signal: AbortSignal.timeout(90_000),
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${adminKey}`,
    },
    body: JSON.stringify({ query: document, variables: { id, after } }),
  })
  expect(await response.text()).toMatch(/event: complete/)
  await expect.poll(() => h.app.services.broadcaster.topicCount()).toBe(0)
})

test('the metrics count events without a position', async () => {
  const text = await (await fetch(`${h.url}/metrics`)).text()
  expect(text).toMatch(/^gatehouse_events_lag_seconds \d/m)
  expect(text).toMatch(/^gatehouse_events_unnumbered \d/m)
})

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  test('a snapshot is never older than its feedCursor: what is written meanwhile is in one of the two', async () => {
    const { url, drop } = await postgresDatabase()
    const own = await openHarness({ role: 'api', databaseUrl: url })
    const other = postgres(url, { max: 2, onnotice: () => {} })
    closers.push(
      drop,
      () => own.stop(),
      () => other.end({ timeout: 1 }),
    )
    const project = (await own.gql('{ viewer { project { id } } }')).data['viewer'].project.id
    const [id] = await makeGenerations(own.app.services.db, project, 1)
    await append(own.app.services, project, id!, someEvents(2))
    const numbering = await other.reserve()
    // The lock of number_waiting_events: a reader of the feed's end waits here.
    await numbering`select pg_advisory_lock(4215203782)`
    const answer = own.gql(snapshot, { project, id })
    await expect
      .poll(
        async () => (await other`select 1 from pg_locks where locktype = 'advisory' and not granted`).length,
      )
      .toBe(1)
    await append(own.app.services, project, id!, someEvents(1))
    await numbering`select pg_advisory_unlock(4215203782)`
    const { data } = await answer
    const seen = data['generation'].events.nodes.map((node: { cursor: string }) => placeOf(node).seq)
    await append(own.app.services, project, id!, someEvents(1))
    const reader = followFeed({ url: own.url, key: adminKey, after: data['project'].feedCursor })
    await expect.poll(() => reader.told.map(placeOf).at(-1)?.seq).toBe(4)
    await reader.close()
    expect([...seen, ...reader.told.map((event) => placeOf(event).seq)]).toEqual([1, 2, 3, 4])
  })

  test(
    'twenty writers on two replicas are delivered in one order, each event once, to all subscribers',
    { timeout: 180_000 },
    async () => {
      const { url, drop } = await postgresDatabase()
      const replicas = await Promise.all([1, 2].map(() => openHarness({ role: 'api', databaseUrl: url })))
      closers.push(drop, () => Promise.all(replicas.map((one) => one.stop())))
      const project = (await replicas[0]!.gql('{ viewer { project { id } } }')).data['viewer'].project.id
      const ids = await makeGenerations(replicas[0]!.app.services.db, project, 20)
      const rounds = 40
      const readers = replicas.flatMap((one) =>
        [1, 2].map(() => followFeed({ url: one.url, key: adminKey, after: '0' })),
      )
      closers.push(() => Promise.all(readers.map((reader) => reader.close())))
      await Promise.all(
        ids.map(async (id, i) => {
          for (let n = 0; n < rounds; n++)
            await append(replicas[i % 2]!.app.services, project, id, someEvents(1))
        }),
      )
      const told = readers.map((reader) => () => reader.told.filter((event) => event.generationId !== null))
      for (const one of told) await expect.poll(() => one().length).toBe(ids.length * rounds)
      const [first, ...others] = told.map((one) => one().map((event) => event.cursor))
      for (const other of others) expect(other).toEqual(first)
      const places = first!.map((cursor) => placeOf({ cursor }))
      for (const id of ids)
        expect(places.filter((place) => place.id === id).map(({ seq }) => seq)).toEqual(
          Array.from({ length: rounds }, (_, i) => i + 1),
        )
    },
  )
})
