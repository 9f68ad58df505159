/** The bridge on two replicas: one execution for one key, a killed replica's call is joined, and news crosses over. */
import { Client, type ClientOptions } from '@modelcontextprotocol/client'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mutate } from '../../support/ask.ts'
import { callRaw, rpc } from '../../support/bridge.ts'
import { buildServer } from '../../support/build.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { startLoopback, type Loopback } from '../../support/loopback.ts'
import { transportV2 } from '../../support/mcp-clients.ts'
import { startReplica, type Replica } from '../../support/replica.ts'
import { objectSchema } from '../../support/story.ts'

const key = 'gh_bridge_operator_01234567890123456789012345678901234'
const closers: (() => unknown)[] = []
let upstream: Loopback
/** Lets the requests go that hang at /hang. */
let letGo: (() => void)[] = []
let replicas: Replica[]
let sql: postgres.Sql
let agentId: string
const tools: Record<string, string> = {}

beforeAll(async () => {
  if (!hasPostgres) return
  upstream = await startLoopback((request, response) => {
    const answer = () => response.writeHead(200, { 'content-type': 'text/plain' }).end(`done ${request.body}`)
    if (request.url === '/hang') letGo.push(answer)
    else setImmediate(answer)
  })
  closers.push(() => upstream.close())
  const [server, database] = await Promise.all([buildServer(), postgresDatabase()])
  closers.push(
    () => server.remove(),
    () => database.drop(),
  )
  sql = postgres(database.url, { max: 2, onnotice: () => {} })
  closers.push(() => sql.end({ timeout: 1 }))
  const start = () =>
    startReplica(server.entry, {
      DATABASE_URL: database.url,
      GATEHOUSE_DATABASE_POOL: '8',
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_EGRESS_ALLOW: upstream.address,
      GATEHOUSE_REQUESTS_PER_MINUTE: '1000000',
      GATEHOUSE_LOG_LEVEL: 'error',
    })
  replicas = [start(), start(), start()]
  closers.push(() => Promise.all(replicas.map((one) => one.kill())))
  await Promise.all(replicas.map((one) => one.ready))
  for (const name of ['count', 'hang']) {
    const inputSchema = objectSchema({ n: { type: 'integer' } })
    const config = { http: { url: `${upstream.url}/${name}`, method: 'POST', inputSchema } }
    tools[name] = (await mutate(replicas[0]!.url, key, 'createTool', { name, config }, 'tool { id }'))[
      'tool'
    ].id
  }
  const input = { name: 'shared', toolIds: Object.values(tools), mcp: { enabled: true } }
  agentId = (await mutate(replicas[0]!.url, key, 'createAgent', input, 'agent { id }'))['agent'].id
})
afterAll(async () => {
  for (const close of closers.reverse()) await close()
})

const at = (replica: number) => `${replicas[replica]!.url}/mcp/${agentId}`
const seen = (path: string) => upstream.seen.filter((request) => request.url === path).length

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  test('fifty equal keys at once on two replicas: one execution, fifty equal answers', async () => {
    const args = { n: 1, idempotency_key: 'fifty' }
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => callRaw(at(i % 2), key, 'count', args)),
    )
    const results = new Set(answers.map((answer) => JSON.stringify(answer.body['result'])))
    expect([...results]).toEqual([expect.stringContaining('done {\\"n\\":1}')])
    expect(seen('/count')).toBe(1)
  })

  test('the same key with other arguments, or another tool, is a conflict on any replica', async () => {
    for (const [name, args] of [
      ['count', { n: 2 }],
      ['hang', { n: 1 }],
      ['shared', { message: 'hello' }],
    ] as const) {
      const { body } = await callRaw(at(1), key, name, { ...args, idempotency_key: 'fifty' })
      expect(body['error'], name).toMatchObject({ code: 409001, data: { type: 'idempotency_conflict' } })
    }
    expect(seen('/count')).toBe(1)
  })

  test('the key may come in _meta, and is the same key', async () => {
    const params = { name: 'count', arguments: { n: 1 }, _meta: { 'gatehouse/idempotency_key': 'fifty' } }
    const { body } = await rpc(at(0), key, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    expect(body['result'].content[0].text).toBe('done {"n":1}')
    expect(seen('/count')).toBe(1)
  })

  test('a replica that is killed in flight: the repeat joins, hears that nobody knows, and nothing is sent again', async () => {
    const args = { n: 3, idempotency_key: 'killed' }
    const lost = callRaw(at(2), key, 'hang', args).catch(() => 'lost')
    while (letGo.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await replicas[2]!.kill()
    expect(await lost).toBe('lost')
    const joined = callRaw(at(0), key, 'hang', args)
    const [row] = await sql`select id, status from tool_calls where runtime_name = 'hang'`
    expect(row!['status']).toBe('EXECUTING')
    // As if its lease had ended.
    await sql`update tool_calls set wake_at = now() where id = ${row!['id']}`
    const { body } = await joined
    expect(body['result']).toMatchObject({
      isError: true,
      structuredContent: { error: { type: 'outcome_unknown', call_id: row!['id'] } },
    })
    expect((await callRaw(at(1), key, 'hang', args)).body['result']).toEqual(body['result'])
    expect(seen('/hang')).toBe(1)
    letGo.forEach((go) => go())
  })

  test('a session that began on one replica goes on and ends on another', async () => {
    const headers = { accept: 'application/json, text/event-stream' }
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    const hello = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
    const id = (await rpc(at(0), key, hello, headers)).headers.get('mcp-session-id')!
    expect(id).toMatch(/^[\x21-\x7e]+$/)
    const session = { ...headers, 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': id }
    const first = await callRaw(at(0), key, 'shared', { message: 'one' }, session)
    const second = await callRaw(at(1), key, 'shared', { message: 'two' }, session)
    const threads = [first, second].map((answer) => answer.body['result']._meta['gatehouse/conversation_id'])
    expect(threads[0]).toBe(threads[1])
    const ended = await fetch(at(1), {
      method: 'DELETE',
      headers: { 'x-agent-api-key': key, 'mcp-session-id': id },
    })
    expect(ended.status).toBe(204)
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    expect((await rpc(at(1), key, list, session)).status).toBe(404)
    let status = 0
    while (status !== 404) status = (await rpc(at(0), key, list, session)).status
  })
})

describe.skipIf(!hasPostgres)('a change on one replica reaches the clients of another', () => {
  const changes: [string, () => Promise<unknown>][] = [
    [
      'of a tool',
      () =>
        mutate(
          replicas[1]!.url,
          key,
          'updateTool',
          { id: tools['count'], description: `d${Date.now()}` },
          'tool { id }',
        ),
    ],
    [
      'of a preset',
      () =>
        mutate(
          replicas[1]!.url,
          key,
          'updateTool',
          { id: tools['count'], presetParameters: { n: 7 } },
          'tool { id }',
        ),
    ],
    [
      'of a gate',
      () =>
        mutate(
          replicas[1]!.url,
          key,
          'updateTool',
          { id: tools['hang'], gate: { autoApprove: false } },
          'tool { id }',
        ),
    ],
    [
      "of an agent's tools",
      () =>
        mutate(
          replicas[1]!.url,
          key,
          'updateAgent',
          { id: agentId, toolIds: [tools['count']] },
          'agent { id }',
        ),
    ],
  ]
  const eras: [string, Pick<ClientOptions, 'versionNegotiation'>][] = [
    ['the old era', { versionNegotiation: { mode: 'legacy' } }],
    ['the new era', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
  ]

  test.each(eras)('in %s', { timeout: 60_000 }, async (_name, era) => {
    await mutate(
      replicas[0]!.url,
      key,
      'updateAgent',
      { id: agentId, toolIds: Object.values(tools) },
      'agent { id }',
    )
    await mutate(replicas[0]!.url, key, 'updateTool', { id: tools['hang'], gate: null }, 'tool { id }')
    await mutate(
      replicas[0]!.url,
      key,
      'updateTool',
      { id: tools['count'], presetParameters: {} },
      'tool { id }',
    )
    let heard = () => {}
    const onChanged = () => heard()
    const client = new Client(
      { name: 'listener', version: '1' },
      { ...era, listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } } },
    )
    await client.connect(transportV2(at(0), key, () => {}))
    // Its stream is open when it has heard of something; what came before is another test's.
    for (const [what, change] of changes) {
      const told = new Promise<void>((resolve) => (heard = resolve))
      await change()
      await expect(told, what).resolves.toBeUndefined()
    }
    const names = (await client.listTools()).tools.map((tool) => tool.name)
    expect(names).toEqual(['count', 'shared'])
    await client.close()
  })
})
