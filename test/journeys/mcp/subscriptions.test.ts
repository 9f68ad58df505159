/** Resource subscriptions of MCP clients, with clients and upstreams of both protocol eras. */
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { startLegacy, type LegacyServer } from '../../support/legacy-server.ts'
import { connectV1, connectV2 } from '../../support/mcp-clients.ts'
import { openModern } from '../../support/mcp-wire.ts'
import { startModern, type ModernServer } from '../../support/upstream-servers.ts'

type MakeDatabase = () => Promise<{ url: string; drop(): Promise<void> } | null>
const onPostgres: [string, MakeDatabase] = ['two replicas on PostgreSQL', postgresDatabase]
const kinds: [string, MakeDatabase][] = [
  ['one process on PGlite', () => Promise.resolve(null)],
  ...(hasPostgres ? [onPostgres] : []),
]

/** Records the notifications of a client, in order. */
function recorder() {
  const uris: string[] = []
  const waiting: (() => void)[] = []
  return {
    uris,
    add(uri: string) {
      uris.push(uri)
      for (const wake of waiting.splice(0)) wake()
    },
    /** Resolves when the URI was notified so often. */
    async times(uri: string, n: number): Promise<void> {
      while (uris.filter((one) => one === uri).length < n)
        await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

describe.each(kinds)('resource subscriptions, in %s', (_kind, makeDatabase) => {
  let modern: ModernServer
  let legacy: LegacyServer
  let database: Awaited<ReturnType<typeof makeDatabase>>
  /** The replica with the streams, and the one that gets the requests; in one process they are the same. */
  let [listener, asked]: Harness[] = []
  let key: string
  let agentId: string

  beforeAll(async () => {
    ;[modern, legacy, database] = await Promise.all([startModern(), startLegacy(), makeDatabase()])
    listener = await openHarness({ databaseUrl: database?.url ?? null })
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

  const urlAt = (replica: Harness | undefined) => `${replica!.url}/mcp/${agentId}`

  /** A legacy client with an open stream at the first replica; its requests go to the other one. */
  async function legacyClient() {
    let opened = () => {}
    const isOpen = new Promise<void>((resolve) => (opened = resolve))
    const split: typeof fetch = async (input, init) => {
      const post = init?.method === 'POST'
      const response = await fetch(post ? String(input).replace(listener!.url, asked!.url) : input, init)
      if (init?.method === 'GET') opened()
      return response
    }
    const updates = recorder()
    const { client, leave } = await connectV1(urlAt(listener), key, { fetch: split })
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updates.add(params.uri))
    await isOpen
    return { client, updates, leave }
  }

  const watchedAt = (uri: string) => [...legacy.watched].filter((one) => one.endsWith(` ${uri}`)).length

  test('a modern client names resources in its filter, and gets updates from upstreams of both eras', async () => {
    const client = await connectV2(urlAt(listener), key)
    const updates = recorder()
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => updates.add(params.uri))
    expect(client.getServerCapabilities()?.resources).toMatchObject({ subscribe: true })
    const wanted = ['test://one', 'doc://one', 'nobody://has']
    const subscription = await client.listen({ resourceSubscriptions: wanted })
    expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: ['test://one', 'doc://one'] })
    // Each watch begins with one notification.
    await Promise.all([updates.times('test://one', 1), updates.times('doc://one', 1)])
    modern.updated('test://one')
    await legacy.updated('doc://one', 'doc://one/part')
    await Promise.all([updates.times('test://one', 2), updates.times('doc://one', 2)])
    modern.updated('test://unwatched')
    modern.updated('test://one')
    await updates.times('test://one', 3)
    const all = ['doc://one', 'doc://one', 'test://one', 'test://one', 'test://one']
    expect(updates.uris.toSorted()).toEqual(all)
    await subscription.close()
    await until(() => watchedAt('doc://one') === 0)
    await client.close()
  })

  test('a legacy session subscribes and unsubscribes, and gets updates on its stream', async () => {
    const { client, updates, leave } = await legacyClient()
    expect(client.getServerCapabilities()?.resources).toMatchObject({ subscribe: true })
    await client.subscribeResource({ uri: 'doc://one' })
    await client.subscribeResource({ uri: 'doc://one' })
    await client.subscribeResource({ uri: 'test://any-other' })
    await Promise.all([updates.times('doc://one', 1), updates.times('test://any-other', 1)])
    expect(watchedAt('doc://one')).toBe(1)
    modern.updated('test://any-other')
    await legacy.updated('doc://one', 'doc://one/part')
    await Promise.all([updates.times('test://any-other', 2), updates.times('doc://one/part', 1)])
    await client.unsubscribeResource({ uri: 'doc://one' })
    await until(() => watchedAt('doc://one') === 0)
    modern.updated('test://any-other')
    await updates.times('test://any-other', 3)
    await leave()
    const rows = await query(listener!.app.services.db, sql`select 1 from resource_subscriptions`)
    expect(rows).toEqual([])
  })

  test('many clients are one subscription upstream, until the last one leaves', async () => {
    const all = await Promise.all([1, 2, 3].map(() => legacyClient()))
    await Promise.all(all.map(({ client }) => client.subscribeResource({ uri: 'doc://one' })))
    await Promise.all(all.map(({ updates }) => updates.times('doc://one', 1)))
    expect(watchedAt('doc://one')).toBe(1)
    await legacy.updated('doc://one', 'doc://one/x')
    await Promise.all(all.map(({ updates }) => updates.times('doc://one/x', 1)))
    await all[0]!.leave()
    await all[1]!.leave()
    await legacy.updated('doc://one', 'doc://one/y')
    await all[2]!.updates.times('doc://one/y', 1)
    await all[2]!.leave()
    await until(() => watchedAt('doc://one') === 0)
  })

  test('after a gap each resource is notified once more, because updates may have been missed', async () => {
    const { client, updates, leave } = await legacyClient()
    await client.subscribeResource({ uri: 'doc://one' })
    await client.subscribeResource({ uri: 'test://one' })
    await Promise.all([updates.times('doc://one', 1), updates.times('test://one', 1)])
    await legacy.forget()
    await modern.restart()
    await Promise.all([updates.times('doc://one', 2), updates.times('test://one', 2)])
    await legacy.updated('doc://one', 'doc://one/after')
    modern.updated('test://one')
    await Promise.all([updates.times('doc://one/after', 1), updates.times('test://one', 3)])
    await leave()
  })

  test('a subscription that the upstream refuses does not stop the others', async () => {
    const { client, updates, leave } = await legacyClient()
    await client.subscribeResource({ uri: 'refused:two' })
    await client.subscribeResource({ uri: 'doc://one' })
    await updates.times('doc://one', 1)
    expect(updates.uris).toEqual(['doc://one'])
    await leave()
  })

  test('updates that never stop are combined into a few notifications, and the last one is sent', async () => {
    const { client, updates, leave } = await legacyClient()
    await client.subscribeResource({ uri: 'doc://one' })
    await updates.times('doc://one', 1)
    for (let n = 0; n < 200; n++) await legacy.updated('doc://one')
    await legacy.updated('doc://one', 'doc://one/end')
    await updates.times('doc://one/end', 1)
    await updates.times('doc://one', 2)
    expect(updates.uris.length).toBeLessThan(100)
    await leave()
  })

  test('the streams of a revoked key end', async () => {
    const { apiKey, secret } = await listener!.mutate(
      'createApiKey',
      { name: 'short', role: 'CALLER' },
      'apiKey { id } secret',
    )
    const headers = { authorization: `Bearer ${secret}`, accept: 'text/event-stream' }
    const old = await fetch(urlAt(listener), { headers })
    const filter = { notifications: { resourceSubscriptions: ['test://one'] } }
    const fresh = await openModern(urlAt(listener), secret, 'subscriptions/listen', filter)
    for (const response of [old, fresh])
      expect(response.headers.get('content-type')).toContain('text/event-stream')
    await listener!.mutate('revokeApiKey', { id: apiKey.id }, 'apiKey { id }')
    expect(await old.text()).toContain('listening')
    expect(await fresh.text()).toContain('acknowledged')
  })

  test('an unknown resource, one too many and a subscription without a session are errors with their type', async () => {
    const { client, leave } = await legacyClient()
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
    const response = await fetch(urlAt(asked), {
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

  test('a resource that the agent loses is not watched any more', async () => {
    const { client, updates, leave } = await legacyClient()
    await client.subscribeResource({ uri: 'doc://one' })
    await updates.times('doc://one', 1)
    const tools = async (ids: string[]) =>
      listener!.mutate('updateAgent', { id: agentId, toolIds: ids }, 'agent { id }')
    const { data } = await listener!.gql('query($id: ID!) { agent(id: $id) { toolIds } }', { id: agentId })
    const [far, old] = data['agent'].toolIds
    await tools([far])
    await until(() => watchedAt('doc://one') === 0)
    await tools([far, old])
    await updates.times('doc://one', 2)
    await leave()
  })
})
