/**
 * A direct call begins with what this process remembers of its tool, and the statement that begins it proves that. Here are
 * the changes that it must not overlook: made without any hint, as by another process whose hint was lost.
 */
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { oneLine } from '../support/one-line.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { startModern } from '../support/upstream-servers.ts'
import { forFile } from '../support/for-file.ts'

let reached: unknown[]

beforeEach(() => void (reached = []))

const run = (text: ReturnType<typeof sql>) => query<Record<string, any>>(h.app.services.db, text)

const h = await forFile(openHarness({ databaseUrl: null }))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const upstream = await forFile(startModern())
upstream.tools.set('echo', {
  tool: { name: 'echo', description: 'Says it again.' },
  run: (args: object) => {
    reached.push(args)
    return { content: [{ type: 'text', text: 'again' }] }
  },
})

/** Statements over tools, calls, approvals and upstreams, without those of workers and of the poll. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const session = (h.app.services.db as any).session
  const prepare = session.prepareQuery
  const seen: string[] = []
  session.prepareQuery = function (statement: { sql: string }, ...rest: unknown[]) {
    const said = oneLine(statement.sql)
    if (
      /\b(tools|tool_calls|upstreams|approvals)\b/.test(said) &&
      !/^select .* skip locked|wake_at <=|unnumbered/.test(said)
    )
      seen.push(said)
    return prepare.call(this, statement, ...rest)
  }
  try {
    await work()
    return seen
  } finally {
    session.prepareQuery = prepare
  }
}

async function farTool(): Promise<string> {
  const config = { mcp: { url: upstream.url } }
  return (await h.mutate('createTool', { name: `far_${Date.now()}`, config }, 'tool { id }'))['tool'].id
}
const callFar = (toolId: string) => gate.call(toolId, {}, { action: 'echo' })

/** Changes the stored definition as another process would, without its hint. */
const redefine = (toolId: string, path: string, value: unknown) =>
  run(sql`with t as (
      update tools set version = version + 1,
        definition = jsonb_set(definition, ${path}::text[], ${JSON.stringify(value)}::text::jsonb) - 'judgedVersion'
      where id = ${toolId} returning *
    )
    insert into tool_versions (tool_id, version, project_id, definition)
    select id, version, project_id, definition from t`)

test('a direct call takes one statement to begin and one to end', async () => {
  const { id, name } = await gate.gated(null)
  await gate.call(id)
  const seen = await statementsOf(() => gate.call(id))
  expect(seen.map((text) => text.slice(0, 12))).toEqual(['with g as (i', 'with o as (s'])
  expect(gate.paid(name)).toHaveLength(2)
})

test('so does a call through an mcp tool: its upstream is read with the first', async () => {
  const id = await farTool()
  await callFar(id)
  const seen = await statementsOf(() => callFar(id))
  expect(seen.map((text) => text.slice(0, 12))).toEqual(['with g as (i', 'with o as (s'])
  expect(reached).toHaveLength(2)
})

test('an approved call of an upstream is compared with the lists of now, and approval and tool are not read again', async () => {
  const gates = [{ action: 'echo', gate: { autoApprove: false } }]
  const config = { mcp: { url: upstream.url, gates } }
  const { tool } = await h.mutate('createTool', { name: `gated_${Date.now()}`, config }, 'tool { id }')
  const call = await callFar(tool.id)
  const lists = () => upstream.seen.filter(({ method }) => method === 'tools/list').length
  const before = lists()
  const seen = await statementsOf(async () => {
    await gate.decide(call['approval'].id, 'APPROVE')
    while (reached.length === 0) await new Promise(setImmediate)
  })
  expect(seen[0]).toMatch(/end as owner/)
  expect(seen.slice(1).filter((text) => /^select .* from "?(tools|approvals)"? where/.test(text))).toEqual([])
  expect(lists()).toBeGreaterThan(before)
  expect(reached).toHaveLength(1)
})

test('an approved call of an upstream whose definition has changed is asked about again', async () => {
  const gates = [{ action: 'echo', gate: { autoApprove: false } }]
  const config = { mcp: { url: upstream.url, gates } }
  const { tool } = await h.mutate('createTool', { name: `drifted_${Date.now()}`, config }, 'tool { id }')
  const call = await callFar(tool.id)
  const { tool: echo, run: runs } = upstream.tools.get('echo')!
  upstream.tools.set('echo', {
    tool: { ...echo, inputSchema: objectSchema({ to: { type: 'string' } }) },
    run: runs,
  })
  try {
    await gate.decide(call['approval'].id, 'APPROVE')
    await expect.poll(() => gate.approval(call['approval'].id)).toMatchObject({ voidReason: 'TOOL_CHANGED' })
    expect(await gate.toolCall(call['id'])).toMatchObject({ status: 'AWAITING_APPROVAL' })
    expect(reached).toEqual([])
  } finally {
    upstream.tools.set('echo', { tool: echo, run: runs })
  }
})

test('a gate that was added stops the next call', async () => {
  const { id, name } = await gate.gated(null)
  await gate.call(id)
  const gated = await gate.gated({ autoApprove: false })
  const [row] = await run(sql`select definition->'gate' as policy from tools where id = ${gated.id}`)
  await redefine(id, '{gate}', row!['policy'])
  expect(await gate.call(id)).toMatchObject({ status: 'AWAITING_APPROVAL' })
  expect(gate.paid(name)).toHaveLength(1)
})

test('a tool that is for agents only now is not called directly, and one that no longer is can be', async () => {
  const { id, name } = await gate.gated(null)
  await gate.call(id)
  const refused = async () =>
    (
      await h.gql('mutation($input: CallToolInput!) { callTool(input: $input) { __typename } }', {
        input: { toolId: id, arguments: { amount: 1 } },
      })
    ).errors?.[0]?.extensions
  await redefine(id, '{agentsOnly}', true)
  expect(await refused()).toMatchObject({ code: 'FORBIDDEN' })
  expect(gate.paid(name)).toHaveLength(1)
  await redefine(id, '{agentsOnly}', false)
  expect(await gate.call(id)).toMatchObject({ status: 'SUCCEEDED' })
})

test('arguments are checked by the schema of now, which may refuse or allow what the remembered one did not', async () => {
  const { id, name } = await gate.gated(null)
  await gate.call(id)
  const schema = (type: string) => objectSchema({ amount: { type } }, ['amount'])
  await redefine(id, '{http,inputSchema}', schema('string'))
  await redefine(id, '{inputSchema}', schema('string'))
  expect(await gate.call(id, { amount: 5 })).toMatchObject({ code: 'INVALID' })
  expect(gate.paid(name)).toHaveLength(1)
  await redefine(id, '{http,inputSchema}', schema('number'))
  await redefine(id, '{inputSchema}', schema('number'))
  expect(await gate.call(id, { amount: 5 })).toMatchObject({ status: 'SUCCEEDED' })
})

test('a tool that was deleted is not found, also by a repeat of an earlier call', async () => {
  const { id, name } = await gate.gated(null)
  await gate.call(id, { amount: 1 }, { idempotencyKey: 'once' })
  expect(await gate.call(id, { amount: 1 }, { idempotencyKey: 'once' })).toMatchObject({
    status: 'SUCCEEDED',
  })
  await run(sql`delete from tools where id = ${id}`)
  expect(await gate.call(id, { amount: 1 }, { idempotencyKey: 'once' })).toMatchObject({ code: 'NOT_FOUND' })
  expect(await gate.call(id)).toMatchObject({ code: 'NOT_FOUND' })
  expect(gate.paid(name)).toHaveLength(1)
})

test('a list of the upstream that has changed is the one that counts', async () => {
  const id = await farTool()
  await callFar(id)
  await run(sql`update upstreams set catalog_hash = 'other',
    catalog = jsonb_set(jsonb_set(catalog::jsonb, '{hash}', '"other"'), '{tools}', '[]')::text where id = ${id}`)
  expect(await callFar(id)).toMatchObject({ code: 'INVALID' })
  expect(reached).toHaveLength(1)
})

test('rows that were deleted behind its back are not there: key, upstream, agent', async () => {
  const { id, name } = await gate.gated(null)
  const key = await gate.key({ role: 'ADMIN' })
  expect(await gate.call(id, { amount: 1 }, {}, key.secret)).toMatchObject({ status: 'SUCCEEDED' })
  await run(sql`delete from api_keys where id = ${key.id}`)
  const refused = await h.gql(
    'mutation($i: CallToolInput!) { callTool(input: $i) { __typename ... on Error { code } } }',
    { i: { toolId: id, arguments: { amount: 2 } } },
    key.secret,
  )
  expect(JSON.stringify(refused)).toContain('UNAUTHENTICATED')
  expect(gate.paid(name)).toHaveLength(1)

  const far = await farTool()
  await callFar(far)
  await run(sql`delete from upstreams where id = ${far}`)
  expect((await callFar(far))['status']).not.toBe('SUCCEEDED')
  expect(reached).toHaveLength(1)

  const agentId = await fixtures.agent({ toolIds: [id] })
  await h.until(await fixtures.start(agentId, 'say here'), ['COMPLETED'])
  await run(sql`delete from agent_versions where agent_id = ${agentId}`)
  await run(sql`delete from agents where id = ${agentId}`)
  expect(
    await h.mutate('startGeneration', { agentId, prompt: 'say gone' }, 'generation { id }'),
  ).toMatchObject({ code: 'NOT_FOUND' })
})

test('an upstream that is closed after failures gets nothing', async () => {
  const id = await farTool()
  await callFar(id)
  await run(sql`update upstreams set failures = 5, retry_at = now() + interval '1 minute' where id = ${id}`)
  expect(await callFar(id)).toMatchObject({ status: 'ERRORED', errorCode: 'upstream_unavailable' })
  expect(reached).toHaveLength(1)
})

test('a key of another project does not find a remembered tool', async () => {
  const { id } = await gate.gated(null)
  await gate.call(id)
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const other = await gate.key({ role: 'ADMIN', projectId: project.id })
  expect(await gate.call(id, { amount: 1 }, {}, other.secret)).toMatchObject({ code: 'NOT_FOUND' })
})
