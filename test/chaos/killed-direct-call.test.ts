/**
 * SIGKILL during a direct call that others have joined: every caller gets a response soon after the lease has
 * ended, over GraphQL and over the bridge, on both databases. A call that may be repeated returns the result of its
 * repetition, any other UNKNOWN.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mutate } from '../support/ask.ts'
import { callRaw } from '../support/bridge.ts'
import { buildServer } from '../support/build.ts'
import { databaseKinds, embeddedDatabase, postgresDatabase } from '../support/databases.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { drawn } from '../support/random.ts'

const key = 'gh_killed_operator_01234567890123456789012345678901234'
const leaseMs = 1500

/** The two ways to call a tool directly; each returns the outcome of the call. */
const ways = {
  async GraphQL(url: string, { toolId }: Fixture, idempotencyKey: string): Promise<string> {
    const input = { toolId, arguments: {}, idempotencyKey }
    const { toolCall } = await mutate(url, key, 'callTool', input, 'toolCall { status errorCode }')
    return toolCall.errorCode ?? toolCall.status
  },
  async 'the bridge'(url: string, { agentId, name }: Fixture, idempotencyKey: string): Promise<string> {
    const { body } = await callRaw(`${url}/mcp/${agentId}`, key, name, { idempotency_key: idempotencyKey })
    const { result, error } = body
    if (error) return error.data.type
    return result.isError ? result.structuredContent.error.code : 'SUCCEEDED'
  },
} as const

interface Fixture {
  toolId: string
  agentId: string
  name: string
}

describe.each(drawn(databaseKinds))('on %s', (kind) => {
  const closers: (() => unknown)[] = []
  const running: Replica[] = []
  const requests = new Map<string, number>()
  let upstream: Loopback
  let settings: Record<string, string>
  let entry: string

  beforeAll(async () => {
    entry = (await buildServer()).entry
    // The first request on each path gets no response.
    upstream = await startLoopback(({ url }, response) => {
      requests.set(url, (requests.get(url) ?? 0) + 1)
      if (requests.get(url)! > 1) response.writeHead(200).end('done')
    })
    closers.push(() => upstream.close())
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-killed-'))
    closers.push(() => rm(folder, { recursive: true, force: true }))
    settings = {
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_LEASE_MS: String(leaseMs),
      GATEHOUSE_EGRESS_ALLOW: upstream.address,
      GATEHOUSE_LOG_LEVEL: 'error',
      GATEHOUSE_DATA_DIR: join(folder, 'data'),
    }
    if (kind === 'PostgreSQL') {
      const made = await postgresDatabase()
      closers.push(() => made.drop())
      settings['DATABASE_URL'] = made.url
    } else await embeddedDatabase(join(folder, 'data'))
  })
  // One process holds the embedded database: a process that a failed test left running must not block the next test.
  afterEach(() => Promise.all(running.splice(0).map((replica) => replica.kill())))
  afterAll(async () => {
    for (const close of closers.toReversed()) await close()
  })

  async function start(): Promise<Replica> {
    const replica = startReplica(entry, settings)
    running.push(replica)
    await replica.ready
    return replica
  }

  async function fixture(url: string, name: string, idempotent: boolean): Promise<Fixture> {
    const http = { url: `${upstream.url}/${name}`, method: 'POST', inputSchema: { type: 'object' } }
    const { tool } = await mutate(
      url,
      key,
      'createTool',
      { name, idempotent, config: { http } },
      'tool { id }',
    )
    const agent = {
      name: `${name}_agent`,
      model: 'builtin/rehearsal',
      toolIds: [tool.id],
      mcp: { enabled: true },
    }
    const made = await mutate(url, key, 'createAgent', agent, 'agent { id }')
    return { toolId: tool.id, agentId: made['agent'].id, name }
  }

  const cases = Object.keys(ways).flatMap((way) => [
    { way: way as keyof typeof ways, idempotent: false, expected: 'outcome_unknown', sent: 1 },
    { way: way as keyof typeof ways, idempotent: true, expected: 'SUCCEEDED', sent: 2 },
  ])

  test.each(cases)(
    'over $way a call with idempotent: $idempotent is answered $expected',
    { timeout: 180_000 },
    async ({ way, idempotent, expected, sent }) => {
      const first = await start()
      const name = `pay_${way.replace(/\W/g, '_')}_${idempotent}`
      const made = await fixture(first.url, name, idempotent)
      const call = (url: string) => ways[way](url, made, `once-${name}`)
      const lost = call(first.url).catch(() => 'gone')
      await expect.poll(() => requests.get(`/${name}`)).toBe(1)
      let joined: Promise<string>[]
      let second: Replica
      if (kind === 'PostgreSQL') {
        second = await start()
        joined = [call(second.url), call(second.url)]
        await first.kill()
      } else {
        // One process holds the embedded database: the callers ask its successor.
        const cut = [call(first.url).catch(() => 'gone')]
        await first.kill()
        expect(await Promise.all(cut)).toEqual(['gone'])
        second = await start()
        joined = [call(second.url), call(second.url)]
      }
      expect(await Promise.all(joined)).toEqual([expected, expected])
      expect(await lost).toBe('gone')
      expect(requests.get(`/${name}`)).toBe(sent)
    },
  )
})
