/** A commit that is visible and yet not replicated: what it allows is not done before a later commit is acknowledged. */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { hasClusters, startCluster, type Cluster } from '../support/cluster.ts'
import { objectSchema } from '../support/fixtures.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'

const closers: (() => unknown)[] = []
let cluster: Cluster
let h: Harness
let upstream: Loopback
let admin: postgres.Sql

beforeAll(async () => {
  if (!hasClusters) return
  cluster = await startCluster()
  closers.push(() => cluster.remove())
  h = await openHarness({ databaseUrl: cluster.url, leaseMs: 60_000 })
  closers.push(() => h.stop())
  upstream = await startLoopback((_request, response) => void response.writeHead(200).end('paid'))
  closers.push(() => upstream.close())
  admin = postgres(cluster.url, { max: 1, onnotice: () => {} })
  closers.push(() => admin.end({ timeout: 1 }))
}, 180_000)
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

const setStandbys = async (setting: string) => {
  await admin.unsafe('set synchronous_commit = local')
  await admin.unsafe(`alter system ${setting}`)
  await admin.unsafe('select pg_reload_conf()')
}
/** Whether a statement like this waits for a standby. */
const isWaiting = async (text: string) =>
  (
    await admin`select 1 from pg_stat_activity where wait_event = 'SyncRep' and query ~ ${text}`.catch(
      () => [],
    )
  ).length > 0

describe.skipIf(!hasClusters)('a call whose COMMIT waits for a standby', () => {
  test('and whose server restarts is sent only after a later commit', { timeout: 270_000 }, async () => {
    const config = { http: { url: `${upstream.url}/pay`, method: 'POST', inputSchema: objectSchema({}) } }
    const toolId = (await h.mutate('createTool', { name: 'pay', config }, 'tool { id }'))['tool'].id
    await setStandbys(`set synchronous_standby_names = 'nobody'`)
    const called = h.mutate('callTool', { toolId, arguments: {} }, 'toolCall { status }')
    await vi.waitUntil(() => isWaiting('insert into tool_calls'), { timeout: 90_000, interval: 50 })
    // All connections end and the server recovers: the row is there, and no standby has it.
    await cluster.killBackend(() => 0)
    await vi.waitUntil(async () => upstream.seen.length > 0 || (await isWaiting('update tool_calls')), {
      timeout: 90_000,
      interval: 50,
    })
    expect((await admin`select status from tool_calls`).map((row) => row['status'])).toEqual(['EXECUTING'])
    expect(upstream.seen).toHaveLength(0)
    await setStandbys('reset synchronous_standby_names')
    expect((await called)['toolCall']).toEqual({ status: 'SUCCEEDED' })
    expect(upstream.seen).toHaveLength(1)
  })
})
