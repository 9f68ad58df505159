/** MCP on several replicas: one execution for one key, calls of a killed replica, sessions and notifications across replicas. */
import type { VersionNegotiationOptions } from '@modelcontextprotocol/client'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mutate } from '../../support/ask.ts'
import { callRaw, rpc } from '../../support/bridge.ts'
import { buildServer } from '../../support/build.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { startLoopback, type Loopback } from '../../support/loopback.ts'
import { connectV2 } from '../../support/mcp-clients.ts'
import { modernProtocol, startSession } from '../../support/mcp-wire.ts'
import { startReplica, type Replica } from '../../support/replica.ts'
import { objectSchema } from '../../support/fixtures.ts'

const key = 'gh_bridge_operator_01234567890123456789012345678901234'
const closers: (() => unknown)[] = []
let upstream: Loopback
/** Responds to the requests that hang at /hang. */
let release: (() => void)[] = []
let replicas: Replica[]
let sql: postgres.Sql
let agentId: string
const tools: Record<string, string> = {}

beforeAll(async () => {
  if (!hasPostgres) return
  upstream = await startLoopback((request, response) => {
    const answer = () => response.writeHead(200, { 'content-type': 'text/plain' }).end(`done ${request.body}`)
    if (request.url === '/hang') release.push(answer)
    else setImmediate(answer)
  })
  closers.push(() => upstream.close())
  const [server, database] = await Promise.all([buildServer(), postgresDatabase()])
  closers.push(() => database.drop())
  sql = postgres(database.url, { max: 2, onnotice: () => {} })
  closers.push(() => sql.end({ timeout: 1 }))
  const start = () =>
    startReplica(server.entry, {
      DATABASE_URL: database.url,
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
  for (const close of closers.toReversed()) await close()
})

const at = (replica: number) => `${replicas[replica]!.url}/mcp/${agentId}`
const seen = (path: string) => upstream.seen.filter((request) => request.url === path).length

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  test('fifty requests with the same key at once on two replicas: one execution, fifty equal results', async () => {
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

  test('a replica is killed during a call: the repeat joins it, gets outcome_unknown, and nothing is sent again', async () => {
    const args = { n: 3, idempotency_key: 'killed' }
    const lost = callRaw(at(2), key, 'hang', args).catch(() => 'lost')
    while (release.length === 0) await new Promise((resolve) => setImmediate(resolve))
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
    release.forEach((go) => go())
  })

  test('a session that began on one replica goes on and ends on another', async () => {
    const session = await startSession(at(0), key)
    const id = session['mcp-session-id']
    expect(id).toMatch(/^[\x21-\x7e]+$/)
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

describe.skipIf(!hasPostgres)('a change on one replica is notified to the clients of another', () => {
  const update = (replica: number, what: 'Tool' | 'Agent', input: object) =>
    mutate(replicas[replica]!.url, key, `update${what}`, input, `${what.toLowerCase()} { id }`)
  const changes: [string, () => Promise<unknown>][] = [
    ['of a tool', () => update(1, 'Tool', { id: tools['count'], description: `d${Date.now()}` })],
    ['of a preset', () => update(1, 'Tool', { id: tools['count'], presetParameters: { n: 7 } })],
    ['of a gate', () => update(1, 'Tool', { id: tools['hang'], gate: { autoApprove: false } })],
    ["of an agent's tools", () => update(1, 'Agent', { id: agentId, toolIds: [tools['count']] })],
  ]
  const eras: [string, NonNullable<VersionNegotiationOptions['mode']>][] = [
    ['the legacy protocol', 'legacy'],
    ['the modern protocol', { pin: modernProtocol }],
  ]

  test.each(eras)('in %s', { timeout: 180_000 }, async (_name, mode) => {
    await update(0, 'Agent', { id: agentId, toolIds: Object.values(tools) })
    await update(0, 'Tool', { id: tools['hang'], gate: null })
    await update(0, 'Tool', { id: tools['count'], presetParameters: {} })
    let notified = () => {}
    const onListChanged = { autoRefresh: false, debounceMs: 0, onChanged: () => notified() }
    let opened = () => {}
    const isOpen = new Promise<void>((resolve) => (opened = resolve))
    const client = await connectV2(at(0), key, { mode, opened, listChanged: { tools: onListChanged } })
    // What changes before it is not notified; notifications of earlier changes belong to another test.
    await isOpen
    for (const [what, change] of changes) {
      const changed = new Promise<void>((resolve) => (notified = resolve))
      await change()
      await expect(changed, what).resolves.toBeUndefined()
    }
    const names = async () => (await client.listTools()).tools.map((tool) => tool.name)
    await expect.poll(names).toEqual(['count', 'shared'])
    await client.close()
  })
})
