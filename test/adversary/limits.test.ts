/** Rate limits: shared by replicas, shown in headers and responses, set through the API, waited for inside a run. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { perMinute, rateHeaders } from '../../src/core/buckets.ts'
import { silentLog } from '../../src/core/log.ts'
import { redisBuckets } from '../../src/store/rates/redis-buckets.ts'
import { deleteFull, postgresBuckets } from '../../src/store/rates/postgres-buckets.ts'
import { createSharedBuckets, type BucketStore } from '../../src/store/rates/shared-buckets.ts'
import { databaseKinds, hasPostgres, hasRedis, redisUrl } from '../support/databases.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'

const clock = { now: () => Date.now() }

describe('buckets that replicas share', () => {
  /** Takes tokens alternately through both replicas until none is left; returns how many there were. */
  async function drain(stores: BucketStore[], capacity: number): Promise<number> {
    const replicas = stores.map((store) => createSharedBuckets(clock, silentLog, store))
    const rule = { capacity, perMs: 1 / 60_000 }
    const name = randomUUID()
    const begun = Date.now()
    const tries = Array.from({ length: capacity * 2 }, (_, i) => replicas[i % 2]!.take(name, rule, 1))
    const taken = (await Promise.all(tries)).filter((waitMs) => waitMs === 0).length
    const waitMs = await replicas[0]!.take(name, rule, 1)
    // The next token comes a minute after the first was taken.
    expect(waitMs).toBeGreaterThan(59_000 - (Date.now() - begun))
    expect(waitMs).toBeLessThanOrEqual(60_000)
    return taken
  }

  test.skipIf(!hasRedis)('in Redis never give more than the capacity, whichever replica takes', async () => {
    const stores = [1, 2].map(() => redisBuckets(redisUrl, `test:${randomUUID()}`))
    const shared = redisBuckets(redisUrl, `test:${randomUUID()}`)
    await expect
      .poll(() =>
        shared.take('warm', perMinute(10), 1, 1).then(
          (a) => a.granted,
          () => 0,
        ),
      )
      .toBe(1)
    // Tokens that one replica has reserved are not available to the other.
    const taken = await drain([shared, shared], 200)
    expect(taken).toBeGreaterThanOrEqual(190)
    expect(taken).toBeLessThanOrEqual(200)
    await Promise.all([...stores, shared].map((store) => store.close()))
  })

  test.skipIf(!hasPostgres)(
    'in PostgreSQL never give more than the capacity, whichever replica takes',
    async () => {
      const deployment = await openDeployment('PostgreSQL')
      const stores = deployment.replicas.map(({ app }) => postgresBuckets(app.services.db))
      const taken = await drain(stores, 200)
      expect(taken).toBeGreaterThanOrEqual(190)
      expect(taken).toBeLessThanOrEqual(200)
      expect(
        await deployment.rows(`select relpersistence from pg_class where relname = 'rate_buckets'`),
      ).toEqual([{ relpersistence: 'u' }])
      await Promise.all(stores.map((store) => store.close()))
      await deployment.close()
    },
  )

  test.skipIf(!hasPostgres)('are deleted from PostgreSQL when they are full, and not before', async () => {
    const deployment = await openDeployment('PostgreSQL')
    const { db } = deployment.replicas[0]!.app.services
    const store = postgresBuckets(db)
    const rule = { capacity: 60, perMs: 1 / 60_000 }
    const take = async (needed: number) => (await store.take('k', rule, needed, needed)).granted
    const after = (time: string) =>
      deployment.rows(`update rate_buckets
        set at = at - interval '${time}', full_at = full_at - interval '${time}' where name = 'k'`)
    expect(await take(60)).toBe(60)
    await after('30 minutes')
    await deleteFull(db)
    expect(await take(31)).toBe(0)
    expect(await take(30)).toBe(30)
    await after('59 minutes')
    await deleteFull(db)
    expect(await deployment.rows(`select 1 from rate_buckets where name = 'k'`)).toHaveLength(1)
    await after('1 minute')
    await deleteFull(db)
    expect(await deployment.rows(`select 1 from rate_buckets where name = 'k'`)).toEqual([])
    await store.close()
    await deployment.close()
  })

  test.skipIf(!hasPostgres)('are filled on by a database whose clock is behind', async () => {
    const deployment = await openDeployment('PostgreSQL')
    const store = postgresBuckets(deployment.replicas[0]!.app.services.db)
    const take = () => store.take('k', { capacity: 60, perMs: 1 / 60_000 }, 1, 60)
    const move = (time: string) =>
      deployment.rows(`update rate_buckets set at = at + interval '${time}' where name = 'k'`)
    expect((await take()).granted).toBe(60)
    await move('1 hour')
    expect((await take()).granted).toBe(0)
    await move('-1 minute')
    expect((await take()).granted).toBeCloseTo(1, 1)
    await store.close()
    await deployment.close()
  })

  test('ask the shared store once for many requests', async () => {
    let asked = 0
    const store: BucketStore = {
      take: async (_name, rule, _needed, chunk) => (asked++, { granted: chunk, left: rule.capacity }),
      close: async () => {},
    }
    const shared = createSharedBuckets(clock, silentLog, store)
    for (let i = 0; i < 1000; i++) await shared.take('k', perMinute(6000), 1)
    expect(asked).toBeLessThanOrEqual(4)
  })

  test('refuse nobody while the shared store is unreachable, and count locally', async () => {
    const store: BucketStore = { take: () => Promise.reject(new Error('away')), close: async () => {} }
    const shared = createSharedBuckets(clock, silentLog, store)
    const rule = { capacity: 10, perMs: 1 / 60_000 }
    const waits = []
    for (let i = 0; i < 12; i++) waits.push(await shared.take('k', rule, 1))
    expect(waits.filter((ms) => ms === 0)).toHaveLength(10)
    expect(waits.at(-1)).toBeGreaterThan(0)
  })

  test('count locally also when the shared store has been away for long', async () => {
    let isAway = false
    const store: BucketStore = {
      take: async (_name, rule, needed) => {
        if (isAway) throw new Error('away')
        return { granted: needed, left: rule.capacity - needed }
      },
      close: async () => {},
    }
    let now = 0
    const shared = createSharedBuckets({ now: () => now }, silentLog, store)
    const rule = { capacity: 10, perMs: 1 / 60_000 }
    expect(await shared.take('k', rule, 1)).toBe(0)
    isAway = true
    now = 60_000
    const waits = []
    for (let i = 0; i < 12; i++) waits.push(await shared.take('k', rule, 1))
    expect(waits.filter((ms) => ms === 0)).toHaveLength(10)
  })

  test('are told in the headers of the draft, in whole numbers', () => {
    expect(rateHeaders('key', perMinute(6000), 5999.4)).toEqual({
      'ratelimit-policy': '"key";q=6000;w=60',
      ratelimit: '"key";r=5999;t=1',
    })
    expect(rateHeaders('key', perMinute(60), 0)).toMatchObject({ ratelimit: '"key";r=0;t=60' })
  })
})

const post = (h: Harness, body: object, path = '/graphql') =>
  fetch(h.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
    body: JSON.stringify(body),
  })

describe('a key', () => {
  test.skipIf(!hasPostgres)('has one limit on all replicas together', async () => {
    const deployment = await openDeployment('PostgreSQL')
    const [one, two] = deployment.replicas as [Harness, Harness]
    const made = (await one.mutate(
      'createApiKey',
      { name: 'k', role: 'VIEWER' },
      'secret apiKey { id }',
    )) as any
    await one.mutate(
      'setRateLimit',
      { scope: 'KEY', targetId: made.apiKey.id, perMinute: 1, burst: 20 },
      'rateLimit { burst }',
    )
    const statuses: number[] = []
    for (let i = 0; i < 40; i++) {
      const h = i % 2 ? one : two
      statuses.push((await h.gql('{ __typename }', {}, made.secret)).status)
    }
    // The other replica may have used the default limit before the hint arrived; it did not know the key.
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(21)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(18)
    await deployment.close()
  })

  test('gets the remaining tokens in every response, and the time to retry', async () => {
    const h = await openHarness({ requestsPerMinute: 3 })
    const first = await post(h, { query: '{ __typename }' })
    expect(first.headers.get('ratelimit-policy')).toBe('"key";q=3;w=60')
    expect(first.headers.get('ratelimit')).toMatch(/^"key";r=2;t=\d+$/)
    const mcp = await post(h, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, '/mcp')
    expect(mcp.headers.get('ratelimit')).toMatch(/^"key";r=1;t=\d+$/)
    await post(h, { query: '{ __typename }' })
    const refused = await post(h, { query: '{ __typename }' })
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    await h.stop()
  })

  test('gets an MCP error with the time to wait over MCP, not a transport error', async () => {
    const h = await openHarness({ requestsPerMinute: 1 })
    await post(h, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, '/mcp')
    const refused = await post(h, { jsonrpc: '2.0', id: 'two', method: 'tools/list' }, '/mcp')
    expect(refused.status).toBe(200)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.json()).toMatchObject({
      jsonrpc: '2.0',
      id: 'two',
      error: { code: 429001, data: { type: 'limited', retry_after_ms: expect.any(Number) } },
    })
    await h.stop()
  })

  test('pays for operations by their cost, and gets back what they did not use', async () => {
    const h = await openHarness({ costPerMinute: 100 })
    const small = (await (await post(h, { query: '{ viewer { id } }' })).json()) as any
    expect(small.extensions.cost).toEqual({
      requestedQueryCost: 1,
      actualQueryCost: 1,
      throttleStatus: { maximumAvailable: 100, currentlyAvailable: 99, restoreRate: 1 },
    })
    // A page of up to 50 costs 50 entries; there are none.
    const page = '{ tools(first: 50) { nodes { id name } } }'
    const large = (await (await post(h, { query: page })).json()) as any
    expect(large.extensions.cost.requestedQueryCost).toBeGreaterThan(5)
    expect(large.extensions.cost.actualQueryCost).toBe(1)
    expect(large.extensions.cost.throttleStatus.currentlyAvailable).toBeGreaterThanOrEqual(97)
    const huge = '{ tools(first: 100) { nodes { id name title description inputSchema outputSchema } } }'
    const refused = await post(h, { query: huge })
    const body = (await refused.json()) as any
    expect(refused.status).toBe(429)
    expect(body.errors[0].extensions).toMatchObject({ code: 'LIMITED', retryAfterMs: expect.any(Number) })
    expect(body.data).toBeUndefined()
    await h.stop()
  })
})

describe('limits through the API', () => {
  let h: Harness
  let fixtures: Fixtures
  beforeAll(async () => {
    h = await openHarness()
    fixtures = await makeFixtures(h)
  })
  afterAll(async () => {
    await fixtures.close()
    await h.stop()
  })
  const set = (input: object, key?: string) =>
    h.mutate('setRateLimit', input, 'rateLimit { scope targetId perMinute burst }', key)

  test('are set, listed, changed and removed', async () => {
    const target = { scope: 'TOOL', targetId: fixtures.tools.look }
    expect((await set({ ...target, perMinute: 5 }))['rateLimit']).toEqual({
      ...target,
      perMinute: 5,
      burst: 5,
    })
    expect((await set({ ...target, perMinute: 6, burst: 1 }))['rateLimit']).toMatchObject({
      perMinute: 6,
      burst: 1,
    })
    const listed = async () => (await h.gql('{ rateLimits { scope targetId perMinute } }')).data['rateLimits']
    expect(await listed()).toEqual([{ ...target, perMinute: 6 }])
    expect((await set(target))['rateLimit']).toBeNull()
    expect(await listed()).toEqual([])
    const audit = await h.gql('{ audit(first: 3) { nodes { action details } } }')
    if (audit.data) expect(JSON.stringify(audit.data)).toContain('limits:Set')
  })

  test('need the permission, a resource of the project, and a number', async () => {
    const made = async (role: string) =>
      ((await h.mutate('createApiKey', { name: role, role }, 'secret')) as any).secret
    const denied = { scope: 'TOOL', targetId: fixtures.tools.look, perMinute: 1 }
    for (const role of ['DEVELOPER', 'VIEWER', 'CALLER'])
      await expect(set(denied, await made(role))).rejects.toThrow(/FORBIDDEN/)
    expect(await set({ ...denied, targetId: 'tool_other' })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await set({ ...denied, scope: 'AGENT' })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await set({ ...denied, perMinute: 0 })).toMatchObject({ code: 'INVALID' })
  })

  test('of a project apply to all its keys', async () => {
    const { project } = (await h.mutate('createProject', { name: 'tight' }, 'project { id }')) as any
    const key = (
      (await h.mutate('createApiKey', { projectId: project.id, name: 'k', role: 'ADMIN' }, 'secret')) as any
    ).secret
    await set({ projectId: project.id, scope: 'PROJECT', perMinute: 1, burst: 2 })
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await h.gql('{ viewer { id } }', {}, key)).status)
    expect(statuses).toEqual([200, 200, 429])
    expect((await h.gql('{ viewer { id } }')).status).toBe(200)
  })

  test('of a tool refuse a direct call with the time to wait; a repeat is refused as well', async () => {
    await set({ scope: 'TOOL', targetId: fixtures.tools.act, perMinute: 1, burst: 1 })
    const gql = (idempotencyKey: string) =>
      h.gql(
        `mutation($i: CallToolInput!) { callTool(input: $i) { __typename ... on ToolCallPayload { toolCall { status } } ... on LimitReachedError { retryAfterMs message } } }`,
        { i: { toolId: fixtures.tools.act, arguments: { word: 'a' }, idempotencyKey } },
      )
    expect((await gql('one')).data['callTool'].toolCall.status).toBe('SUCCEEDED')
    const refused = (await gql('two')).data['callTool']
    expect(refused).toMatchObject({
      __typename: 'LimitReachedError',
      message: expect.stringMatching(/limit/),
    })
    expect(refused.retryAfterMs).toBeGreaterThan(50_000)
    await set({ scope: 'TOOL', targetId: fixtures.tools.act })
  })

  test('of an agent refuse runs that are started too often', async () => {
    const agentId = await fixtures.agent()
    await set({ scope: 'AGENT', targetId: agentId, perMinute: 1, burst: 1 })
    const start = () => h.mutate('startGeneration', { agentId, prompt: 'hello' }, 'generation { id }')
    expect((await start())['generation']).toBeTruthy()
    expect(await start()).toMatchObject({ code: 'LIMITED' })
  })

  test('over the bridge are explained to the model in text', async () => {
    const agentId = await fixtures.agent({ mcp: { enabled: true } })
    await set({ scope: 'TOOL', targetId: fixtures.tools.look, perMinute: 1, burst: 1 })
    const call = async (id: number) => {
      const body = {
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'look', arguments: { word: 'x' } },
      }
      return (await (await post(h, body, `/mcp/${agentId}`)).json()) as any
    }
    expect((await call(1)).result.isError ?? false).toBe(false)
    const { result } = await call(2)
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: { type: 'limited', retry_after_ms: expect.any(Number) } },
    })
    await set({ scope: 'TOOL', targetId: fixtures.tools.look })
  })
})

describe.each(databaseKinds)('inside a run, on %s', (kind) => {
  let deployment: Deployment
  beforeAll(async () => {
    deployment = await openDeployment(kind)
  })
  afterAll(() => deployment.close())

  test('a limited call is not an error: it waits for tokens, and the run sleeps meanwhile', async () => {
    const [h] = deployment.replicas as [Harness]
    const { toolId, agentId } = await deployment.payer({ autoApprove: true })
    // A burst of one, and another token each second.
    await h.mutate(
      'setRateLimit',
      { scope: 'TOOL', targetId: toolId, perMinute: 60, burst: 1 },
      'rateLimit { burst }',
    )
    const prompt = ['1', '2', '3'].map((n) => `call pay {"n":"${n}"}`).join('\n')
    const before = deployment.fixtures.upstream.seen.length
    const id = await deployment.fixtures.start(agentId, prompt)
    const done = await h.until(id, ['COMPLETED', 'FAILED'], 'toolCalls { status attempt startedAt }')
    expect(done['status']).toBe('COMPLETED')
    expect(done['toolCalls'].map((call: any) => [call.status, call.attempt])).toEqual([
      ['SUCCEEDED', 1],
      ['SUCCEEDED', 1],
      ['SUCCEEDED', 1],
    ])
    expect(deployment.fixtures.upstream.seen.length - before).toBe(3)
    const starts = done['toolCalls'].map((call: any) => Date.parse(call.startedAt)).toSorted()
    // Each second adds one token; buckets and rows use the database's clock, or this process's.
    expect(starts[2] - starts[0]).toBeGreaterThan(1500)
  })

  test('an approved call outside any run waits in its row', async () => {
    const [h] = deployment.replicas as [Harness]
    const { toolId } = await deployment.payer({ autoApprove: false })
    await h.mutate(
      'setRateLimit',
      { scope: 'TOOL', targetId: toolId, perMinute: 60, burst: 1 },
      'rateLimit { burst }',
    )
    const calls: any[] = []
    for (const n of ['a', 'b'])
      calls.push(
        (
          (await h.mutate(
            'callTool',
            { toolId, arguments: { n } },
            'toolCall { id status approval { id } }',
          )) as any
        ).toolCall,
      )
    expect(calls.map((call) => call.status)).toEqual(['AWAITING_APPROVAL', 'AWAITING_APPROVAL'])
    const decisions = calls.map((call) => ({ approvalId: call.approval.id, verdict: 'APPROVE' }))
    await h.mutate('decideApprovals', { decisions, atomic: true }, 'outcomes { approvalId }')
    const read = async () =>
      (
        await Promise.all(
          calls.map((call) =>
            h.gql('query($id: ID!) { toolCall(id: $id) { status attempt } }', { id: call.id }),
          ),
        )
      ).map(({ data }) => data['toolCall'])
    await expect.poll(read).toEqual([
      { status: 'SUCCEEDED', attempt: 1 },
      { status: 'SUCCEEDED', attempt: 1 },
    ])
  })
})
