/** Log messages of upstreams for clients of the older era, which set a level once for their session. */
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { startLegacy, type LegacyServer } from '../../support/legacy-server.ts'
import { connectV1 } from '../../support/mcp-clients.ts'
import { startModern, type ModernServer } from '../../support/upstream-servers.ts'

let modern: ModernServer
let legacy: LegacyServer

beforeAll(async () => {
  ;[modern, legacy] = await Promise.all([startModern(), startLegacy()])
  modern.tools.set('chat', {
    tool: { name: 'chat' },
    run: async (_args, { mcpReq }) => {
      for (const level of ['info', 'error'] as const) await mcpReq.log?.(level, `chat ${level}`)
      return { content: [{ type: 'text', text: 'done' }] }
    },
  })
})
afterAll(() => Promise.all([modern?.kill(), legacy?.close()]))

/** An agent with the tools `new_chat` and `old_chat`, and a key that may call them. */
async function makeAgent(h: Harness): Promise<{ path: string; secret: string }> {
  const make = async (name: string, url: string) =>
    (await h.mutate('createTool', { name, config: { mcp: { url } } }, 'tool { id }'))['tool'].id as string
  const toolIds = [await make('new', modern.url), await make('old', legacy.url)]
  const { agent } = await h.mutate(
    'createAgent',
    { name: 'chatty', toolIds, mcp: { enabled: true } },
    'agent { id }',
  )
  const { secret } = await h.mutate('createApiKey', { name: 'k', role: 'CALLER' }, 'secret')
  return { path: `/mcp/${agent.id}`, secret }
}

/** A client of the older era, and the lines that it gets. */
async function listener(url: string, secret: string, fetcher: typeof fetch = fetch) {
  const session = await connectV1(url, secret, { fetch: fetcher })
  const lines: string[] = []
  session.client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    lines.push(`${params.level}: ${String(params.data)}`)
  })
  const chat = async (name: string) => {
    lines.length = 0
    const result = await session.client.callTool({ name: `${name}_chat`, arguments: {} })
    expect(result.content).toEqual([{ type: 'text', text: 'done' }])
    // Log lines come before the result on the same stream.
    return [...lines]
  }
  return { ...session, chat }
}

describe('a session of the older era', () => {
  let h: Harness
  let url: string
  let secret: string
  beforeAll(async () => {
    h = await openHarness()
    const made = await makeAgent(h)
    url = h.url + made.path
    secret = made.secret
  })
  afterAll(() => h?.stop())

  test.each(['new', 'old'])(
    'gets the lines of its level and above, of an upstream of the %s era',
    async (era) => {
      const { client, chat, leave } = await listener(url, secret)
      expect(client.getServerCapabilities()).toMatchObject({ logging: {} })
      expect(await chat(era)).toEqual([])
      await client.setLoggingLevel('warning')
      expect(await chat(era)).toEqual(['error: chat error'])
      await client.setLoggingLevel('debug')
      expect(await chat(era)).toEqual(['info: chat info', 'error: chat error'])
      await client.setLoggingLevel('emergency')
      expect(await chat(era)).toEqual([])
      await leave()
    },
  )

  test('does not set the level of another session of the same key', async () => {
    const [one, other] = [await listener(url, secret), await listener(url, secret)]
    await one.client.setLoggingLevel('debug')
    expect(await other.chat('new')).toEqual([])
    expect(await one.chat('new')).toHaveLength(2)
    await Promise.all([one.leave(), other.leave()])
  })

  test('leaves no row when it ends', async () => {
    const { client, leave } = await listener(url, secret)
    const count = async () => (await query(h.app.services.db, sql`select 1 from session_log_levels`)).length
    const before = await count()
    await client.setLoggingLevel('info')
    expect(await count()).toBe(before + 1)
    await leave()
    expect(await count()).toBe(before)
  })

  test('is refused an unknown level; without a session there is nothing to set', async () => {
    const { client, leave } = await listener(url, secret)
    await expect(client.setLoggingLevel('loud' as never)).rejects.toMatchObject({ code: -32602 })
    await leave()
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'logging/setLevel', params: { level: 'info' } }),
    })
    expect(await response.json()).toMatchObject({ id: 7, error: { data: { type: 'session_required' } } })
  })
})

describe.skipIf(!hasPostgres)('two replicas', () => {
  test('know the level that was set at the other one, although they remember the session', async () => {
    const database = await postgresDatabase()
    const open = () => openHarness({ databaseUrl: database.url })
    const [first, second] = [await open(), await open()]
    try {
      const { path, secret } = await makeAgent(first)
      let at = second
      const routed: typeof fetch = (input, init) => fetch(String(input).replace(first.url, at.url), init)
      const { client, chat, leave } = await listener(first.url + path, secret, routed)
      expect(await chat('new')).toEqual([])
      at = first
      await client.setLoggingLevel('debug')
      at = second
      await expect.poll(() => chat('new')).toHaveLength(2)
      await leave()
    } finally {
      await Promise.all([first.stop(), second.stop()])
      await database.drop()
    }
  })
})
