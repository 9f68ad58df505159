/** Processes that are paused for longer than their lease, or killed while a caller waits. */
import { afterAll, expect, test } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { databaseKinds, embeddedDatabase, hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startLoopback } from '../support/loopback.ts'
import { startReplica, type Replica } from '../support/replica.ts'

const key = 'gh_pause_operator_012345678901234567890123456789012345'
const leaseMs = 1500
const closers: (() => unknown)[] = []
const waiting: (() => void)[] = []

const entry: string = (await buildServer()).entry
const upstream = await startLoopback(
  (_request, response) => void waiting.push(() => response.writeHead(200).end('paid')),
)
closers.push(() => upstream.close())
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

function start(settings: Record<string, string>): Replica {
  const replica = startReplica(entry, {
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_LEASE_MS: String(leaseMs),
    GATEHOUSE_EGRESS_ALLOW: upstream.address,
    GATEHOUSE_LOG_LEVEL: 'error',
    ...settings,
  })
  closers.push(() => replica.kill())
  return replica
}

async function payTool(url: string): Promise<string> {
  const http = { url: `${upstream.url}/pay`, method: 'POST', inputSchema: { type: 'object' } }
  return (await mutate(url, key, 'createTool', { name: 'pay', config: { http } }, 'tool { id }'))['tool'].id
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test.each(databaseKinds)(
  'a process on %s that was paused for longer than its lease continues its own calls, as after a laptop has slept',
  { timeout: 180_000 },
  async (kind) => {
    const settings: Record<string, string> = {}
    if (kind === 'PostgreSQL') {
      const made = await postgresDatabase()
      closers.push(() => made.drop())
      settings['DATABASE_URL'] = made.url
    } else {
      const folder = await mkdtemp(join(tmpdir(), 'gatehouse-pause-'))
      closers.push(() => rm(folder, { recursive: true, force: true }))
      settings['GATEHOUSE_DATA_DIR'] = folder
      await embeddedDatabase(folder)
    }
    const replica = start(settings)
    await replica.ready
    const { url } = replica
    const toolId = await payTool(url)
    const agent = { name: 'payer', model: 'builtin/rehearsal', toolIds: [toolId] }
    const { agent: payer } = await mutate(url, key, 'createAgent', agent, 'agent { id }')
    const prompt = 'call pay {}\nthen\nsay done'
    const runs = await Promise.all(
      Array.from({ length: 6 }, () =>
        mutate(url, key, 'startGeneration', { agentId: payer.id, prompt }, 'generation { id }'),
      ),
    )
    const direct = mutate(url, key, 'callTool', { toolId, arguments: {} }, 'toolCall { status }')
    await expect.poll(() => waiting.length).toBe(7)
    const before = upstream.seen.length
    replica.freeze()
    await pause(leaseMs * 2)
    replica.thaw()
    // Its own sweeps come before the responses.
    await pause(leaseMs)
    for (const go of waiting.splice(0)) go()
    expect((await direct)['toolCall'].status).toBe('SUCCEEDED')
    const query = `query($id: ID!) { generation(id: $id) { status toolCalls { status attempt } } }`
    for (const { generation } of runs)
      await expect
        .poll(async () => (await ask(url, key, query, { id: generation.id })).data['generation'], {
          timeout: 90_000,
        })
        .toEqual({ status: 'COMPLETED', toolCalls: [{ status: 'SUCCEEDED', attempt: 1 }] })
    expect(upstream.seen).toHaveLength(before)
  },
)

test.runIf(hasPostgres)(
  'a caller that joined a direct call by its key gets a response when the lease of its killed process has ended',
  { timeout: 180_000 },
  async () => {
    const made = await postgresDatabase()
    closers.push(() => made.drop())
    const [first, second] = [start({ DATABASE_URL: made.url }), start({ DATABASE_URL: made.url })]
    await Promise.all([first.ready, second.ready])
    const toolId = await payTool(first.url)
    const input = { toolId, arguments: {}, idempotencyKey: 'once' }
    const fields = 'toolCall { status errorCode }'
    const lost = mutate(first.url, key, 'callTool', input, fields).catch(() => 'gone')
    await expect.poll(() => waiting.length).toBe(1)
    const joined = mutate(second.url, key, 'callTool', input, fields)
    await first.kill()
    expect((await joined)['toolCall']).toEqual({ status: 'UNKNOWN', errorCode: 'outcome_unknown' })
    expect(await lost).toBe('gone')
    waiting.splice(0)
  },
)
