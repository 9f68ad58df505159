/** SIGTERM: nothing new starts, running calls are allowed to finish, and no client is kept waiting. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { startReplica, type Replica } from '../support/replica.ts'

const key = 'gh_stop_operator_0123456789012345678901234567890123456'
const closers: (() => unknown)[] = []
const runs = 16
/** Duration of each call, in milliseconds. */
const callMs = 250
/** How long the replica goes on serving after the signal, in milliseconds: a dozen calls long. */
const drainMs = 3000
/** How long what is open may go on after that: longer than a test has. */
const graceMs = 600_000
const arrivals: number[] = []
let upstream: Loopback
let entry: string
let databaseUrl: string

beforeAll(async () => {
  entry = (await buildServer()).entry
  upstream = await startLoopback((_request, response) => {
    arrivals.push(performance.now())
    setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'), callMs)
  })
  closers.push(() => upstream.close())
  if (!hasPostgres) return
  const made = await postgresDatabase()
  closers.push(() => made.drop())
  databaseUrl = made.url
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

function start(settings: Record<string, string>): Replica {
  const replica = startReplica(entry, {
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_EGRESS_ALLOW: upstream.address,
    GATEHOUSE_LOG_LEVEL: 'error',
    ...settings,
  })
  closers.push(() => replica.kill())
  return replica
}

test('a signal before the server is ready ends it at once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-stop-'))
  closers.push(() => rm(folder, { recursive: true, force: true }))
  const data = join(folder, 'data')
  const replica = start({ GATEHOUSE_DATA_DIR: data })
  // It has begun to create its database, which takes seconds.
  await expect.poll(() => existsSync(data), { timeout: 90_000, interval: 5 }).toBe(true)
  expect(replica.url).toBe('')
  expect(await replica.stop()).toBe(0)
  expect(replica.output()).not.toContain('GraphQL')
})

/** A run of six calls that must not be repeated, one after the other. */
const prompt = `${Array.from({ length: 6 }, (_, i) => `call pay {"n":${i}}`).join('\nthen\n')}\nthen\nsay done`

test.runIf(hasPostgres)(
  'a replica that shuts down starts no call, lets sent calls finish, and another continues its runs',
  { timeout: 270_000 },
  async () => {
    const first = start({
      DATABASE_URL: databaseUrl,
      GATEHOUSE_DRAIN_MS: String(drainMs),
      GATEHOUSE_GRACE_MS: String(graceMs),
    })
    await first.ready
    const { url } = first
    const inputSchema = { type: 'object', properties: { n: { type: 'number' } } }
    const config = { http: { url: `${upstream.url}/pay`, method: 'POST', inputSchema } }
    const { tool } = await mutate(url, key, 'createTool', { name: 'pay', config }, 'tool { id }')
    const agent = { name: 'payer', model: 'builtin/rehearsal', toolIds: [tool.id] }
    const { agent: payer } = await mutate(url, key, 'createAgent', agent, 'agent { id }')
    const direct = Array.from({ length: 4 }, (_, n) =>
      mutate(url, key, 'callTool', { toolId: tool.id, arguments: { n } }, 'toolCall { status }'),
    )
    const started = Array.from({ length: runs }, () =>
      mutate(url, key, 'startGeneration', { agentId: payer.id, prompt }, 'generation { id }'),
    )
    await Promise.all(started)
    const events = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: {
        accept: 'text/event-stream',
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
      },
      body: JSON.stringify({ query: 'subscription { projectEvents(after: "0") { cursor } }' }),
    })
    const stream = events.text().catch(() => 'cut')
    await expect.poll(() => arrivals.length, { timeout: 90_000, interval: 5 }).toBeGreaterThan(runs)

    const exited = first.stop()
    const notReady = expect.poll(async () => (await fetch(`${url}/readyz`)).status, {
      timeout: drainMs,
      interval: 20,
    })
    await notReady.toBe(503)
    const draining = performance.now()
    const answer = await ask(url, key, '{ viewer { __typename } }')
    expect(answer.errors, 'requests are served while balancers look away').toBeUndefined()
    expect(await exited, 'an open stream uses up no grace').toBe(0)
    await stream
    // A commit that was being written at the signal may still start its call; each run would start one every 250 ms.
    const late = arrivals.filter((at) => at > draining + 2 * callMs)
    expect(late, 'calls that began after the signal').toEqual([])
    expect((await Promise.all(direct)).map((one) => one['toolCall'].status)).toEqual(
      direct.map(() => 'SUCCEEDED'),
    )

    const second = start({ DATABASE_URL: databaseUrl })
    await second.ready
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
    closers.push(() => sql.end({ timeout: 1 }))
    const open = async () =>
      (await sql`select count(*)::int as n from generations where finished_at is null`)[0]!['n'] as number
    await expect.poll(open, { timeout: 180_000, interval: 100 }).toBe(0)
    const calls = await sql`select status, count(*)::int as n from tool_calls group by status`
    expect(calls.map((row) => ({ ...row }))).toEqual([{ status: 'SUCCEEDED', n: runs * 6 + direct.length }])
    expect(arrivals, 'each call was sent once').toHaveLength(runs * 6 + direct.length)
  },
)
