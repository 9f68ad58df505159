/** Transactions of other programs, of any length, in any database of the cluster: no event waits for them. */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasClusters, startCluster, type Cluster } from '../support/cluster.ts'
import { followFeed, type FeedReader } from '../support/feed-readers.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { append, makeGenerations, someEvents } from '../support/log-writer.ts'

const events = 20
let cluster: Cluster
let h: Harness
let projectId: string
const closers: (() => unknown)[] = []

const connectTo = (database: string) => {
  const url = new URL(cluster.url)
  url.pathname = `/${database}`
  const sql = postgres(url.href, { max: 1, onnotice: () => {} })
  closers.push(() => sql.end({ timeout: 1 }))
  return sql
}

beforeAll(async () => {
  if (!hasClusters) return
  cluster = await startCluster({ max_prepared_transactions: '5' })
  closers.push(() => cluster.remove())
  const sql = connectTo('postgres')
  await sql`create database ours`
  await sql`create table foreign_rows (n int)`
  h = await openHarness({ role: 'api', databaseUrl: cluster.url.replace(/postgres$/, 'ours') })
  closers.push(() => h.stop())
  projectId = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

/** Writes events during the obstacle and waits until each was delivered. */
async function toldMeanwhile(): Promise<void> {
  const [id] = await makeGenerations(h.app.services.db, projectId, 1)
  const reader: FeedReader = followFeed({ url: h.url, key: adminKey, after: '0' })
  closers.push(() => reader.close())
  const mine = () => reader.told.filter((event) => event.generationId === id)
  for (let i = 0; i < events; i++) await append(h.app.services, projectId, id!, someEvents(1))
  await expect.poll(() => mine().length, { timeout: 90_000, message: 'events told' }).toBe(events)
  await reader.close()
}

describe.skipIf(!hasClusters)('no event is late', () => {
  test('behind an open write transaction in another database of the cluster', async () => {
    const other = await connectTo('postgres').reserve()
    await other`begin`
    await other`insert into foreign_rows values (1)`
    await toldMeanwhile()
    await other`rollback`
  })

  test('behind an open write transaction in our own database, whose event is delivered when it commits', async () => {
    const other = await connectTo('ours').reserve()
    await other`begin`
    await other`insert into events (project_id, type, data, commit_order)
      select ${projectId}, 'TOOL_CREATED', '{"toolId": "tool_late", "name": "late"}',
        pg_current_xact_id()::text::bigint`
    await toldMeanwhile()
    const reader = followFeed({ url: h.url, key: adminKey, after: '0', types: ['TOOL_CREATED'] })
    closers.push(() => reader.close())
    await other`commit`
    await reader.until(1)
    await toldMeanwhile()
    expect(reader.told).toHaveLength(1)
    await reader.close()
  })

  test('behind a prepared transaction that was never finished', async () => {
    const other = await connectTo('ours').reserve()
    await other`begin`
    await other.unsafe(`create table forgotten (n int)`)
    await other.unsafe(`prepare transaction 'forgotten'`)
    await toldMeanwhile()
    await other.unsafe(`rollback prepared 'forgotten'`)
  })
})
