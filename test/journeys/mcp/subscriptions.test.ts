/** Clients of the bridge that watch single resources of upstreams: of both eras, over upstreams of both eras. */
import { Client } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { startLegacy, type LegacyServer } from '../../support/legacy-server.ts'
import { transportV2 } from '../../support/mcp-clients.ts'
import { startModern, type ModernServer } from '../../support/upstream-servers.ts'

const kinds: [string, () => Promise<{ url: string; drop(): Promise<void> } | null>][] = [
  ['one process on PGlite', () => Promise.resolve(null)],
  ...(hasPostgres ? [['two replicas on PostgreSQL', postgresDatabase] as never] : []),
]

/** What a client was told, in order; `next` waits for one more that is this one. */
function ear() {
  const told: string[] = []
  const waiting: (() => void)[] = []
  return {
    told,
    hear(uri: string) {
      told.push(uri)
      for (const wake of waiting.splice(0)) wake()
    },
    async times(uri: string, n: number): Promise<void> {
      while (told.filter((one) => one === uri).length < n)
        await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

describe.each(kinds)('resources that are watched, in %s', (_kind, makeDatabase) => {
  let modern: ModernServer
  let legacy: LegacyServer
  let database: Awaited<ReturnType<typeof makeDatabase>>
  /** The one that streams are open at, and the one that is asked; in one process they are the same. */
  let [listener, asked]: Harness[] = []
  let key: string
  let agentId: string

  beforeAll(async () => {
    ;[modern, legacy, database] = await Promise.all([startModern(), startLegacy(), makeDatabase()])
    listener = await openHarness(database ? { databaseUrl: database.url } : {})
    asked = database ? await openHarness({ databaseUrl: database.url }) : listener
    const make = async (name: string, url: string) => {
      const relay = { resources: ['*'] }
      const config = { mcp: { url, relay } }
      const { tool } = await listener!.mutate('createTool', { name, config }, 'tool { id }')
      return tool.id as string
    }
    const toolIds = [await make('far', modern.url), await make('old', legacy.url)]
    const settings = { name: 'watcher', toolIds, mcp: { enabled: true } }
    agentId = (await listener.mutate('createAgent', settings, 'agent { id }'))['agent'].id
    key = (await listener.mutate('createApiKey', { name: 'k', role: 'CALLER' }, 'secret'))['secret']
  })
  afterAll(async () => {
    await Promise.all([listener?.stop(), asked === listener ? null : asked?.stop()])
    await Promise.all([modern?.kill(), legacy?.close(), database?.drop()])
  })

  async function newEra(): Promise<Client> {
    const client = new Client(
      { name: 't', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    await client.connect(transportV2(`${listener!.url}/mcp/${agentId}`, key, () => {}))
    return client
  }

  /** Its requests go to the other replica, its stream stays at the first. */
  async function oldEra(): Promise<{
    client: ClientV1
    heard: ReturnType<typeof ear>
    leave(): Promise<void>
  }> {
    const client = new ClientV1({ name: 't', version: '1' })
    const heard = ear()
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => heard.hear(params.uri))
    let streaming = () => {}
    const isStreaming = new Promise<void>((resolve) => (streaming = resolve))
    const split: typeof fetch = async (input, init) => {
      const post = init?.method === 'POST'
      const response = await fetch(post ? String(input).replace(listener!.url, asked!.url) : input, init)
      if (init?.method === 'GET') streaming()
      return response
    }
    const transport = new StreamableHTTPClientTransport(new URL(`${listener!.url}/mcp/${agentId}`), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
      fetch: split as never,
    })
    await client.connect(transport as never)
    await isStreaming
    return {
      client,
      heard,
      async leave() {
        await transport.terminateSession()
        await client.close()
      },
    }
  }

  const watchedAt = (uri: string) => [...legacy.watched].filter((one) => one.endsWith(` ${uri}`)).length

  test('a client of the newer era names them in its stream, and hears of upstreams of both eras', async () => {
    const client = await newEra()
    const heard = ear()
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => heard.hear(params.uri))
    expect(client.getServerCapabilities()?.resources).toMatchObject({ subscribe: true })
    const wanted = ['test://one', 'doc://one', 'nobody://has']
    const subscription = await client.listen({ resourceSubscriptions: wanted })
    expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: ['test://one', 'doc://one'] })
    // Each watch begins with a word.
    await Promise.all([heard.times('test://one', 1), heard.times('doc://one', 1)])
    modern.updated('test://one')
    await legacy.updated('doc://one', 'doc://one/part')
    await Promise.all([heard.times('test://one', 2), heard.times('doc://one', 2)])
    modern.updated('test://unwatched')
    modern.updated('test://one')
    await heard.times('test://one', 3)
    const all = ['doc://one', 'doc://one', 'test://one', 'test://one', 'test://one']
    expect(heard.told.toSorted()).toEqual(all)
    await subscription.close()
    await until(() => watchedAt('doc://one') === 0)
    await client.close()
  })

  test('a session of the old era subscribes and unsubscribes, and hears it on its stream', async () => {
    const { client, heard, leave } = await oldEra()
    expect(client.getServerCapabilities()?.resources).toMatchObject({ subscribe: true })
    await client.subscribeResource({ uri: 'doc://one' })
    await client.subscribeResource({ uri: 'doc://one' })
    await client.subscribeResource({ uri: 'test://any-other' })
    await Promise.all([heard.times('doc://one', 1), heard.times('test://any-other', 1)])
    expect(watchedAt('doc://one')).toBe(1)
    modern.updated('test://any-other')
    await legacy.updated('doc://one', 'doc://one/part')
    await Promise.all([heard.times('test://any-other', 2), heard.times('doc://one/part', 1)])
    await client.unsubscribeResource({ uri: 'doc://one' })
    await until(() => watchedAt('doc://one') === 0)
    modern.updated('test://any-other')
    await heard.times('test://any-other', 3)
    await leave()
    const rows = await query(listener!.app.services.db, sql`select 1 from resource_subscriptions`)
    expect(rows).toEqual([])
  })

  test('many clients are one subscription upstream, until the last one leaves', async () => {
    const all = await Promise.all([1, 2, 3].map(() => oldEra()))
    await Promise.all(all.map(({ client }) => client.subscribeResource({ uri: 'doc://one' })))
    await Promise.all(all.map(({ heard }) => heard.times('doc://one', 1)))
    expect(watchedAt('doc://one')).toBe(1)
    await legacy.updated('doc://one', 'doc://one/x')
    await Promise.all(all.map(({ heard }) => heard.times('doc://one/x', 1)))
    await all[0]!.leave()
    await all[1]!.leave()
    await legacy.updated('doc://one', 'doc://one/y')
    await all[2]!.heard.times('doc://one/y', 1)
    await all[2]!.leave()
    await until(() => watchedAt('doc://one') === 0)
  })

  test('after a gap each is told once more, for what changed meanwhile was not heard', async () => {
    const { client, heard, leave } = await oldEra()
    await client.subscribeResource({ uri: 'doc://one' })
    await client.subscribeResource({ uri: 'test://one' })
    await Promise.all([heard.times('doc://one', 1), heard.times('test://one', 1)])
    await legacy.forget()
    await modern.restart()
    await Promise.all([heard.times('doc://one', 2), heard.times('test://one', 2)])
    await legacy.updated('doc://one', 'doc://one/after')
    modern.updated('test://one')
    await Promise.all([heard.times('doc://one/after', 1), heard.times('test://one', 3)])
    await leave()
  })

  test('one that the upstream refuses stops none of the others', async () => {
    const { client, heard, leave } = await oldEra()
    await client.subscribeResource({ uri: 'refused:two' })
    await client.subscribeResource({ uri: 'doc://one' })
    await heard.times('doc://one', 1)
    expect(heard.told).toEqual(['doc://one'])
    await leave()
  })

  test('an upstream that never stops to tell of changes is told a few times, the last one included', async () => {
    const { client, heard, leave } = await oldEra()
    await client.subscribeResource({ uri: 'doc://one' })
    await heard.times('doc://one', 1)
    for (let n = 0; n < 200; n++) await legacy.updated('doc://one')
    await legacy.updated('doc://one', 'doc://one/end')
    await heard.times('doc://one/end', 1)
    await heard.times('doc://one', 2)
    expect(heard.told.length).toBeLessThan(100)
    await leave()
  })

  test('a key that is revoked hears nothing more: its streams end', async () => {
    const { apiKey, secret } = await listener!.mutate(
      'createApiKey',
      { name: 'short', role: 'CALLER' },
      'apiKey { id } secret',
    )
    const open = async (method: string, body?: object, more: object = {}) => {
      const headers = { authorization: `Bearer ${secret}`, accept: 'application/json, text/event-stream' }
      const response = await fetch(`${listener!.url}/mcp/${agentId}`, {
        method,
        headers: { ...headers, 'content-type': 'application/json', ...more },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      expect(response.headers.get('content-type')).toContain('text/event-stream')
      return response
    }
    const old = await open('GET')
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const params = { notifications: { resourceSubscriptions: ['test://one'] }, _meta: meta }
    const listen = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }
    const protocol = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
    const fresh = await open('POST', listen, protocol)
    await listener!.mutate('revokeApiKey', { id: apiKey.id }, 'apiKey { id }')
    expect(await old.text()).toContain('listening')
    expect(await fresh.text()).toContain('acknowledged')
  })

  test('what nobody has, and a subscription without a session, are errors with their type', async () => {
    const { client, leave } = await oldEra()
    await expect(client.subscribeResource({ uri: 'nobody://has' })).rejects.toMatchObject({
      code: -32602,
      data: { type: 'resource_not_found', uri: 'nobody://has' },
    })
    for (let n = 0; n < 100; n++) await client.subscribeResource({ uri: `test://${n}` })
    await client.subscribeResource({ uri: 'test://0' })
    await expect(client.subscribeResource({ uri: 'test://one-more' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('100'),
    })
    await leave()
    const response = await fetch(`${asked!.url}/mcp/${agentId}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'resources/subscribe',
        params: { uri: 'doc://one' },
      }),
    })
    expect(await response.json()).toMatchObject({
      error: { code: -32600, data: { type: 'session_required' } },
    })
  })

  test('a resource that the agent loses is not told any more', async () => {
    const { client, heard, leave } = await oldEra()
    await client.subscribeResource({ uri: 'doc://one' })
    await heard.times('doc://one', 1)
    const tools = async (ids: string[]) =>
      listener!.mutate('updateAgent', { id: agentId, toolIds: ids }, 'agent { id }')
    const { data } = await listener!.gql('query($id: ID!) { agent(id: $id) { toolIds } }', { id: agentId })
    const [far, old] = data['agent'].toolIds
    await tools([far])
    await until(() => watchedAt('doc://one') === 0)
    await tools([far, old])
    await heard.times('doc://one', 2)
    await leave()
  })
})
