/** `gatehouse connect`: a stdio server behind a gate of two replicas, as the built command and clients see it. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { connectorFetch } from '../../src/domain/upstream/connector/fetch.ts'
import { nowPlus, query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { command, type Running } from '../cli/command.ts'
import { aroundStatements } from '../support/around-statements.ts'
import { startCuttable } from '../support/cuttable.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import type { Fixtures } from '../support/fixtures.ts'
import { gateFixtures, type GateFixtures } from '../support/gate-fixtures.ts'
import { openHarness, type Harness } from '../support/harness.ts'

/** Longer than a test: what ends before has ended by what it is about. */
const toolTimeoutMs = 600_000
const program = resolve(import.meta.dirname, '../support/stdio-server.mjs')
const closers: (() => unknown)[] = []

/** The replica that connectors dial, and the one that clients ask. On PostgreSQL they are two. */
const dialled = () => replicas[0]!
const asked = () => replicas.at(-1)!

afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

const policyFor = (name: string) => ({
  statement: [{ effect: 'Allow', action: ['connectors:Serve'], resource: [`connector/${name}`] }],
})

const database = hasPostgres ? await postgresDatabase() : null
if (database) closers.push(() => database.drop())
const replicas: { h: Harness; gates: GateFixtures }[] = []
for (const _ of database ? [1, 2] : [1]) {
  const h = await openHarness({
    toolTimeoutMs,
    ...(database ? { databaseUrl: database.url } : {}),
  })
  closers.push(() => h.stop())
  replicas.push({ h, gates: gateFixtures(h, null as unknown as Fixtures) })
}
const folder = await mkdtemp(join(tmpdir(), 'gatehouse-connect-'))
closers.push(() => rm(folder, { recursive: true, force: true }))
const key: string = (await asked().gates.key({ policy: policyFor('*') })).secret

interface Connected {
  connector: Running
  /** The lines that the server has written. */
  lines(): Promise<string[]>
}

async function connect(name: string, own: string = key, url = dialled().h.url): Promise<Connected> {
  const file = join(folder, `${name}-${randomUUID()}`)
  const connector = await command(['connect', name, '--', process.execPath, program, file], {
    GATEHOUSE_URL: url,
    GATEHOUSE_KEY: own,
  })
  closers.push(() => connector.signal('SIGKILL'))
  const lines = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(0, -1)
  return { connector, lines }
}

async function connected(name: string, url?: string): Promise<Connected> {
  const made = await connect(name, key, url)
  await made.connector.until(`Connected as ${name}`)
  return made
}

async function toolFor(name: string, more: object = {}, mcp: object = {}): Promise<string> {
  const input = {
    name: name.replaceAll('-', '_'),
    config: { mcp: { url: `connector:${name}`, ...mcp } },
    ...more,
  }
  const { tool, ...refused } = await asked().h.mutate('createTool', input, 'tool { id }')
  if (!tool) throw new Error(JSON.stringify(refused))
  // The mutation waits five seconds for its lists.
  await expect.poll(async () => (await stateOf(tool.id)).status, patience).toBe('CONNECTED')
  return tool.id
}

const call = (toolId: string, action: string, args: object = {}) =>
  asked().gates.call(toolId, args, { action })

async function stateOf(toolId: string): Promise<{ status: string; names: string[] }> {
  const { data, errors } = await asked().h.gql(
    'query($id: ID!) { tool(id: $id) { ... on McpTool { upstream { status } actions { action } } } }',
    { id: toolId },
  )
  if (errors) throw new Error(JSON.stringify(errors))
  const { upstream, actions } = data['tool']
  return { status: upstream.status, names: actions.map(({ action }: { action: string }) => action) }
}

const patience = { timeout: 90_000 }

test('its tools are listed and called through another replica, and it never sees the key', async () => {
  const { lines } = await connected('plain')
  const toolId = await toolFor('plain')
  expect(await stateOf(toolId)).toMatchObject({
    status: 'CONNECTED',
    names: expect.arrayContaining(['note', 'hang']),
  })
  expect(await call(toolId, 'note', { text: 'one' })).toMatchObject({
    status: 'SUCCEEDED',
    content: [{ text: 'noted one' }],
  })
  const many = Array.from({ length: 20 }, (_, n) => call(toolId, 'note', { text: `many ${n}` }))
  for (const made of await Promise.all(many)) expect(made).toMatchObject({ status: 'SUCCEEDED' })
  expect((await lines()).toSorted()).toEqual(
    ['started without a key', 'note one', ...many.map((_, n) => `note many ${n}`)].toSorted(),
  )
})

test('a call that waited at the gate runs once when it is approved', async () => {
  const { lines } = await connected('gated')
  const toolId = await toolFor('gated', { gate: { autoApprove: false } })
  const waiting = await call(toolId, 'note', { text: 'approved' })
  expect(waiting['status']).toBe('AWAITING_APPROVAL')
  expect(await lines()).toEqual(['started without a key'])
  await dialled().gates.decide(waiting['approval'].id, 'APPROVE')
  expect(await asked().gates.untilCall(waiting['id'], ['SUCCEEDED', 'ERRORED', 'UNKNOWN'])).toMatchObject({
    status: 'SUCCEEDED',
    attempts: [{ outcome: 'SUCCEEDED' }],
  })
  expect(await lines()).toEqual(['started without a key', 'note approved'])
})

test('a call that was under way when the connector was killed is UNKNOWN, and is not sent to the next one', async () => {
  const { connector, lines } = await connected('killed')
  const toolId = await toolFor('killed')
  const calling = call(toolId, 'hang', { text: 'lost' })
  await expect.poll(lines, patience).toContain('hang lost')
  connector.signal('SIGKILL')
  await connector.ended
  // The place of a process that said nothing is kept for some seconds.
  const refused = await connect('killed')
  expect(await refused.connector.ended).toBe(1)
  expect(refused.connector.err()).toContain('Another process serves the connector killed')
  await query(
    dialled().h.app.services.db,
    sql`update connectors set seen_at = now() - interval '15 seconds' where name = 'killed'`,
  )
  expect(await calling).toMatchObject({ status: 'UNKNOWN', attempts: [{ outcome: 'UNKNOWN' }] })
  const next = await connected('killed')
  expect(await call(toolId, 'note', { text: 'after' })).toMatchObject({ status: 'SUCCEEDED' })
  expect(await next.lines()).toEqual(['started without a key', 'note after'])
})

test.each(['its name is free', 'another process has its name'])(
  'a connector that thaws after its lease answers what it had, and it ran once: %s',
  async (then) => {
    const name = then.startsWith('its') ? 'thawed' : 'replaced'
    const { connector, lines } = await connected(name)
    const toolId = await toolFor(name)
    const file = join(folder, `${name}-now`)
    const calling = call(toolId, 'until', { text: file })
    await expect.poll(lines, patience).toContain(`until ${file}`)
    connector.signal('SIGSTOP')
    const { db } = dialled().h.app.services
    const other = name === 'thawed' ? sql`instance` : sql`'another process'`
    await query(
      db,
      sql`update connectors set seen_at = ${nowPlus(-16_000)}, instance = ${other} where name = ${name}`,
    )
    const { id, status } = await calling
    expect(status).toBe('UNKNOWN')
    if (name === 'replaced') await query(db, sql`update connectors set seen_at = now() where name = ${name}`)
    await writeFile(file, '')
    connector.signal('SIGCONT')
    const outcome = async () => (await query(db, sql`select status from tool_calls where id = ${id}`))[0]
    await expect.poll(outcome, patience).toEqual({ status: 'SUCCEEDED' })
    expect((await lines()).filter((line) => line === `until ${file}`)).toHaveLength(1)
  },
)

test('a call without a connector is not sent and says so, and one that comes back is used at once', async () => {
  const first = await connected('away')
  const toolId = await toolFor('away')
  first.connector.signal('SIGTERM')
  expect(await first.connector.ended).toBe(0)
  await expect.poll(async () => (await stateOf(toolId)).status, patience).toBe('DEGRADED')
  const failed = await call(toolId, 'note', { text: 'unsent' })
  expect(failed).toMatchObject({ status: 'ERRORED', structuredContent: { error: { sent: false } } })
  expect(failed['content'][0].text).toContain('gatehouse connect away -- COMMAND')
  const again = await connected('away')
  await expect.poll(async () => (await stateOf(toolId)).status, patience).toBe('CONNECTED')
  expect(await call(toolId, 'note', { text: 'sent' })).toMatchObject({ status: 'SUCCEEDED' })
  expect(await again.lines()).toEqual(['started without a key', 'note sent'])
  const { data } = await asked().h.gql(
    '{ auditEntries(first: 10, filter: { resource: "connector/away" }) { nodes { details } } }',
  )
  expect(data['auditEntries'].nodes.map(({ details }: any) => details.connected)).toEqual([true, false, true])
})

test('a new tool is listed, noise is ignored, and a cancelled call is cancelled at the server', async () => {
  const { lines } = await connected('lively')
  const toolId = await toolFor('lively', { idempotent: true })
  expect((await call(toolId, 'noise'))['content'][0].text).toBe('after the noise')
  await call(toolId, 'grow')
  await expect.poll(async () => (await stateOf(toolId)).names, patience).toContain('grown')
  const calling = call(toolId, 'hang', { text: 'mind changed' })
  await expect.poll(lines, patience).toContain('hang mind changed')
  const { data } = await asked().h.gql(
    'query($id: ID!) { toolCalls(first: 1, filter: { toolId: $id, statuses: [EXECUTING] }) { nodes { id } } }',
    { id: toolId },
  )
  await asked().h.mutate('cancelToolCall', { toolCallId: data['toolCalls'].nodes[0].id }, 'toolCall { id }')
  await calling
  await expect.poll(lines, patience).toContain('cancelled mind changed')
})

test('a server that says again and again that its lists changed is read now and then', async () => {
  await connected('stormy')
  const toolId = await toolFor('stormy')
  let told = 0
  const undo = aroundStatements(dialled().h.app.services.db, ({ text, execute }) => {
    if (text.startsWith('update upstreams set wake_at = now()') && text.includes('where project_id')) told++
    return execute()
  })
  expect(await call(toolId, 'storm')).toMatchObject({ status: 'SUCCEEDED' })
  // It is heard after the storm as before.
  await call(toolId, 'grow')
  await expect.poll(async () => (await stateOf(toolId)).names, patience).toContain('grown')
  undo()
  expect(told).toBeGreaterThan(0)
  expect(told).toBeLessThan(20)
})

test('a connection that is cut during a call costs nothing, and a message that comes twice is run once', async () => {
  const proxy = await startCuttable(dialled().h.url)
  closers.push(() => proxy.close())
  const { lines } = await connected('cut', proxy.url)
  const toolId = await toolFor('cut')
  const file = join(folder, 'exists')
  const calling = call(toolId, 'until', { text: file })
  await expect.poll(lines, patience).toContain(`until ${file}`)
  // As if the database had forgotten that it was taken.
  await query(
    dialled().h.app.services.db,
    sql`update connector_messages set taken_at = null, take_by = now() + interval '1 minute' where connector = 'cut'`,
  )
  await expect
    .poll(
      () =>
        query(
          dialled().h.app.services.db,
          sql`select 1 from connector_messages where connector = 'cut' and taken_at is null`,
        ),
      patience,
    )
    .toEqual([])
  // Between two questions for messages there is nothing to cut.
  await expect.poll(() => proxy.cut(), patience).toBeGreaterThan(0)
  await writeFile(file, '')
  expect(await calling).toMatchObject({ status: 'SUCCEEDED', attempts: [{ outcome: 'SUCCEEDED' }] })
  proxy.cut()
  expect(await call(toolId, 'note', { text: 'again' })).toMatchObject({ status: 'SUCCEEDED' })
  expect(await lines()).toEqual(['started without a key', `until ${file}`, 'note again'])
})

test('a message that nobody takes in time is taken back, and nobody else answers one', async () => {
  const post = async (what: string, body: object, own = key) => {
    const url = `${dialled().h.url}/connectors/bare/${what}`
    const headers = { authorization: `Bearer ${own}`, 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: await response.json().catch(() => null) }
  }
  const instance = 'a'.repeat(32)
  const { connector } = await connected('bare')
  const toolId = await toolFor('bare')
  connector.signal('SIGTERM')
  await connector.ended
  expect(await post('next', { instance })).toEqual({ status: 200, body: { messages: [] } })
  const unsent = await call(toolId, 'note', { text: 'nobody' })
  expect(unsent).toMatchObject({ status: 'ERRORED', isError: true })
  // Whoever may not send that much later sends nothing.
  const { services } = dialled().h.app
  const [row] = await query<{ projectId: string }>(
    services.db,
    sql`select project_id as "projectId" from connectors where name = 'bare'`,
  )
  const asks: unknown[] = []
  const withheld = connectorFetch(services, { projectId: row!.projectId, name: 'bare' })('connector:bare', {
    method: 'POST',
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    mayStart: (delayMs) => asks.push(delayMs) === 0,
  })
  await expect(withheld).rejects.toMatchObject({ code: 'WITHHELD', sent: false })
  expect(asks).toEqual([1500])

  // A message that its sender left behind is never given out; others are of the upstream, which is read again meanwhile.
  const { db } = services
  const [late, id, later] = [randomUUID(), randomUUID(), randomUUID()]
  const put = (one: string, ms: number) =>
    query(
      db,
      sql`insert into connector_messages (id, project_id, connector, message, take_by)
        select ${one}, project_id, name, '{}', ${nowPlus(ms)} from connectors where name = 'bare'`,
    )
  const taken = async (): Promise<string[]> =>
    (await post('next', { instance })).body.messages.map((one: { id: string }) => one.id)
  await put(late, 0)
  await put(id, 60_000)
  expect((await post('next', { instance: 'b'.repeat(32) })).status).toBe(409)
  const first = await taken()
  expect(first).toContain(id)
  await put(later, 60_000)
  const second = await taken()
  expect(second).toContain(later)
  expect([...first, ...second]).not.toContain(late)
  expect(second).not.toContain(id)
  const read = async () =>
    (
      await query<{ answer: string | null }>(db, sql`select answer from connector_messages where id = ${id}`)
    )[0]!.answer
  for (const [body, status] of [
    [{ instance: 'b'.repeat(32), id, answer: { result: 'theirs' } }, 204],
    [{ instance, id, answer: {} }, 400],
    [{ instance, id, answer: 'text' }, 400],
    [{ instance, id: 'x', answer: null }, 400],
    [{ instance, id, answer: { result: 1 }, more: 1 }, 400],
    [{ instance: 'short', id, answer: { result: 1 } }, 400],
  ] as const)
    expect((await post('answer', body)).status, JSON.stringify(body)).toBe(status)
  expect(await read()).toBeNull()
  for (const result of ['first', 'second']) await post('answer', { instance, id, answer: { result } })
  expect(await read()).toBe('{"result":"first"}')
})

test('an answer that is too large is UNKNOWN at once, and the connector goes on', async () => {
  await connected('large')
  const toolId = await toolFor('large')
  for (const action of ['large', 'huge'])
    expect(await call(toolId, action), action).toMatchObject({ status: 'UNKNOWN' })
  expect(await call(toolId, 'note', { text: 'small' })).toMatchObject({ status: 'SUCCEEDED' })
})

test('a server that ends during a call ends the command, and the call is UNKNOWN at once', async () => {
  const { connector } = await connected('ending')
  const toolId = await toolFor('ending')
  const calling = call(toolId, 'end')
  expect(await connector.ended).toBe(1)
  expect(connector.err()).toContain('exit code 3')
  expect(await calling).toMatchObject({ status: 'UNKNOWN' })
})

test('keys of another project reach nothing, others are refused, and so are wrong names and URLs', async () => {
  const { lines } = await connected('own')
  const toolId = await toolFor('own')
  const { project } = await asked().h.mutate('createProject', { name: 'foreign' }, 'project { id }')
  const foreign = await asked().gates.key({ role: 'ADMIN', projectId: project.id })
  const config = { mcp: { url: 'connector:own' } }
  const theirs = await asked().h.mutate(
    'createTool',
    { name: 'theirs', config },
    'tool { id }',
    foreign.secret,
  )
  const unsent = await asked().gates.call(
    theirs['tool'].id,
    { text: 'x' },
    { action: 'note' },
    foreign.secret,
  )
  expect(unsent['status']).not.toBe('SUCCEEDED')
  const beside = await connect('own', foreign.secret)
  await beside.connector.until('Connected as own')
  expect(await call(toolId, 'note', { text: 'mine' })).toMatchObject({ status: 'SUCCEEDED' })
  expect(await beside.lines()).toEqual(['started without a key'])
  expect(await lines()).toContain('note mine')

  const ended = await asked().gates.key({ policy: policyFor('revoked') })
  const revoked = await connect('revoked', ended.secret)
  await revoked.connector.until('Connected as revoked')
  await asked().h.mutate('revokeApiKey', { id: ended.id }, 'apiKey { id }')
  expect(await revoked.connector.ended).toBe(4)

  for (const wrong of [{ role: 'CALLER' }, { policy: policyFor('other') }]) {
    const { secret } = await asked().gates.key(wrong)
    const refused = await connect('own', secret)
    expect(await refused.connector.ended).toBe(4)
    expect(refused.connector.err()).toContain('connectors:Serve on connector/own')
  }
  const create = (mcp: object) =>
    asked().h.mutate('createTool', { name: 'wrong', config: { mcp } }, 'tool { id }')
  for (const [mcp, path] of [
    [{ url: 'connector:../x' }, 'url'],
    [{ url: 'connector:' }, 'url'],
    [{ url: 'connector:own', headers: { a: 'b' } }, 'headers'],
  ] as const)
    expect((await create(mcp))['issues']).toMatchObject([{ path: ['input', 'config', 'mcp', path] }])
})
