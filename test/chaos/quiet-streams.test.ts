/**
 * Streams of one client over two replicas: quiet, then cut. What happens while it is away, and while it is cut again and again
 * and comes back to the other replica, each of its streams gets once and in order: a quiet one, and a slow one beside a fast one
 * on the same socket.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { followProject, type ProjectEventsOptions } from '../../client/core.ts'
import type { ProjectEvent } from '../../client/index.ts'
import { transports, watchedCore } from '../client/clients.ts'
import { startCuttable } from '../support/cuttable.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { dose } from '../support/dose.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()
const rounds = dose(5, 100)
/** Events of a round: more than the slow stream keeps. */
const burst = 12
const types: ProjectEventsOptions['types'] = ['FILE_CREATED', 'AGENT_CREATED']

let database: Awaited<ReturnType<typeof postgresDatabase>>
const replicas: Harness[] = []
beforeAll(async () => {
  if (!hasPostgres) return
  database = await postgresDatabase()
  for (let i = 0; i < 2; i++) replicas.push(await openHarness({ databaseUrl: database.url }))
})
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
  await database?.drop()
})

const anyReplica = () => replicas[Math.floor(random() * replicas.length)]!

async function makeEvents(): Promise<void> {
  const make = async (i: number) => {
    const upload = { filename: `${i}.txt`, contentType: 'text/plain' }
    if (i === 0) await anyReplica().mutate('createAgent', { name: `a ${random()}` }, 'agent { id }')
    else await anyReplica().mutate('presignUpload', upload, 'file { id }')
  }
  await Promise.all(Array.from({ length: burst }, (_, i) => make(i)))
}

/** What the log has since a place. */
async function logSince(after: string, of: ProjectEventsOptions['types']): Promise<string[]> {
  const cursors: string[] = []
  for (let cursor = after; ;) {
    const { data } = await replicas[0]!.gql(
      `query($after: String, $types: [EventType!]) { projectEvents(after: $after, first: 100, filter: { types: $types }) {
        nodes { cursor } pageInfo { endCursor hasNextPage } } }`,
      { after: cursor, types: of },
    )
    const { nodes, pageInfo } = data['projectEvents']
    cursors.push(...nodes.map((node: { cursor: string }) => node.cursor))
    if (!pageInfo.hasNextPage) return cursors
    cursor = pageInfo.endCursor
  }
}

/** Reads until `enough`; between two events a slow reader waits for requests of others. */
function read(stream: AsyncIterable<ProjectEvent>, isSlow: boolean) {
  const cursors: string[] = []
  let wake = () => {}
  const reading = (async () => {
    for await (const { cursor } of stream) {
      cursors.push(cursor)
      wake()
      if (isSlow) for (let i = 0; i < 3; i++) await anyReplica().gql('{ viewer { id } }')
    }
  })()
  return {
    cursors,
    reading,
    async until(count: number) {
      while (cursors.length < count) await new Promise<void>((resolve) => (wake = resolve))
    },
  }
}

describe.skipIf(!hasPostgres).each(transports)('over %s', (_name, webSocket) => {
  test(
    'streams that are quiet and cut get every event once, on whichever replica',
    { timeout: 180_000 + rounds * 10_000 },
    async () => {
      let connections = 0
      // Each connection reaches another replica than the one before.
      const proxy = await startCuttable(() => replicas[connections++ % replicas.length]!.url)
      const core = watchedCore({ url: proxy.url, key: adminKey, webSocket })
      const before = (await replicas[0]!.gql('{ viewer { project { feedCursor } } }')).data['viewer'].project
        .feedCursor as string
      const agents: ProjectEventsOptions['types'] = ['AGENT_CREATED']
      const streams = [
        followProject(core, { types: agents }),
        followProject(core, { types }),
        followProject(core, { types, buffer: 2 }),
      ]
      const readers = streams.map((stream, i) => read(stream, i === 2))
      const [quiet, fast, slow] = readers as [Reader, Reader, Reader]
      await core.told(streams.length)
      for (let round = 0; round < rounds; round++) {
        const back = proxy.leave()
        const cut = makeEvents()
        // Some of it before the client may come back, some of it after.
        if (round % 2 === 0) await cut
        back()
        const later = makeEvents()
        if (random() < 0.5) proxy.cut()
        await Promise.all([cut, later])
        await fast.until(2 * burst * (round + 1))
      }
      const all = await logSince(before, types)
      const ofAgents = await logSince(before, agents)
      expect(all).toHaveLength(2 * burst * rounds)
      await Promise.all([quiet.until(ofAgents.length), fast.until(all.length), slow.until(all.length)])
      // Another one shows that nothing comes twice behind them.
      await makeEvents()
      await Promise.all([quiet.until(ofAgents.length + 1), fast.until(all.length + burst)])
      await slow.until(all.length + burst)
      expect(quiet.cursors).toEqual(await logSince(before, agents))
      expect(fast.cursors).toEqual(await logSince(before, types))
      expect(slow.cursors).toEqual(await logSince(before, types))
      expect(connections).toBeGreaterThan(rounds)
      await Promise.all(streams.map((stream) => stream.return()))
      core.transport.close()
      await Promise.all(readers.map(({ reading }) => reading))
      await proxy.close()
    },
  )
})

type Reader = ReturnType<typeof read>
