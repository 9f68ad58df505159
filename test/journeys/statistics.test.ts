/** Statistics of a project: what is counted, in which bucket, and where counting ends. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { countStatistics } from '../../src/domain/statistics/statistics.ts'
import { connect } from '../../src/store/db/connect.ts'
import { query } from '../../src/store/db/database.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { startRawProvider } from '../support/raw-provider.ts'
import { addProvider } from '../support/strict-provider.ts'
import { framesOf } from '../support/wire-frames.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)

const figures = `complete from to verdictP50 verdictP90 tools { name calls errors unknown }
  buckets { start completed failed cancelled expired open inputTokens outputTokens approvals approvalsExpired
    verdictP50 verdictP90 }`
const read = (args = '') => h.gql(`{ statistics${args} { ${figures} } }`)

test('runs, tokens, verdicts and failures are counted in the bucket in which they began', async () => {
  const { db } = h.app.services
  const tool = await gate.gated({ mode: 'ALWAYS' })
  // Three questions: approved after 10 s, rejected after 30 s, and one that expires.
  const runs = [await gate.ask(tool), await gate.ask(tool), await gate.ask(tool)]
  const ids: string[] = []
  for (const [i, run] of runs.entries()) {
    const [approval] = await gate.pending(run)
    ids.push(approval!['id'])
    if (i < 2) await gate.decide(approval!['id'], i === 0 ? 'APPROVE' : 'REJECT')
    else await gate.bringForward(approval!['id'], 'expiry')
    await h.until(run, ['COMPLETED', 'FAILED'])
  }
  const waiting = await gate.ask(tool)
  await gate.pending(waiting)
  const later = sql`created_at + interval '10 seconds'`
  await query(db, sql`update approvals set settled_at = ${later} where id = ${ids[0]}`)
  await query(
    db,
    sql`update approvals set settled_at = created_at + interval '30 seconds' where id = ${ids[1]}`,
  )
  const { data } = await read()
  const { statistics } = data
  expect(statistics.complete).toBe(true)
  expect(statistics.buckets).toHaveLength(24)
  expect(Date.parse(statistics.to) - Date.parse(statistics.from)).toBe(86_400_000)
  const last = statistics.buckets.at(-1)
  expect(last).toMatchObject({
    completed: 3,
    failed: 0,
    open: 1,
    approvals: 4,
    approvalsExpired: 1,
    verdictP50: 20,
    verdictP90: 28,
  })
  expect(last.inputTokens).toBeGreaterThan(0)
  expect(last.outputTokens).toBeGreaterThan(0)
  expect(statistics).toMatchObject({ verdictP50: 20, verdictP90: 28 })
  expect(statistics.buckets.slice(0, -1).every((one: any) => one.completed + one.approvals === 0)).toBe(true)
  expect(statistics.buckets[0]).toMatchObject({ verdictP50: null, inputTokens: 0 })
  const { tools } = statistics
  expect(tools).toEqual([{ name: tool.name, calls: 4, errors: 0, unknown: 0 }])
  // Moved into the past, the same runs are in the bucket of that time.
  await query(
    db,
    sql`update generations set created_at = created_at - interval '90 minutes', status = 'FAILED'
    where id = ${runs[0]}`,
  )
  await query(db, sql`update tool_calls set status = 'UNKNOWN' where generation_id = ${runs[0]}`)
  await query(db, sql`update tool_calls set status = 'ERRORED' where generation_id = ${runs[1]}`)
  const moved = (await read()).data['statistics']
  expect(moved.buckets.at(-2)).toMatchObject({ failed: 1, completed: 0 })
  expect(moved.buckets.at(-1)).toMatchObject({ failed: 0, completed: 2 })
  expect(moved.tools).toEqual([{ name: tool.name, calls: 4, errors: 1, unknown: 1 }])
})

test('a range is bounded, begins before its end, and belongs to one project', async () => {
  const range = (from: string, to: string, more = '') => `(from: "${from}", to: "${to}"${more})`
  const far = await read(range('2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'))
  expect(far.errors![0]).toMatchObject({ extensions: { code: 'INVALID' } })
  expect(far.errors![0]!.message).toContain('744 buckets')
  const empty = await read(range('2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'))
  expect(empty.errors![0]).toMatchObject({ extensions: { code: 'INVALID' } })
  const days = await read(range('2025-12-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z', ', bucket: DAY'))
  expect(days.data['statistics'].buckets).toHaveLength(365)
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const other = await read(`(projectId: "${project.id}")`)
  expect(other.data['statistics'].tools).toEqual([])
  const { secret } = await h.mutate('createApiKey', { name: 'caller', role: 'CALLER' }, 'secret')
  const refused = await h.gql(`{ statistics { complete } }`, {}, secret)
  expect(refused.errors![0]).toMatchObject({ extensions: { code: 'FORBIDDEN' } })
})

test.skipIf(!hasPostgres)(
  'counting ends at 25,000 rows of a table, of which it takes the newest, and says so',
  async () => {
    const database = await postgresDatabase()
    const connection = await connect({ kind: 'postgres', url: database.url, poolSize: 1 })
    await migrate(connection)
    const { db } = connection
    await query(
      db,
      sql`insert into tool_calls (id, project_id, source, runtime_name, status, requested_by, created_at)
        select 'call_' || i, 'proj_1', 'DIRECT', 'tool', 'ERRORED', 'key_1', now() - i * interval '1 second'
        from generate_series(1, 30000) i`,
    )
    const to = new Date()
    const range = { projectId: 'proj_1', from: new Date(to.getTime() - 86_400_000), to, size: 3_600_000 }
    const all = await countStatistics(db, range, 24)
    expect(all).toMatchObject({ complete: false, tools: [{ name: 'tool', calls: 25_000, errors: 25_000 }] })
    const less = { ...range, from: new Date(to.getTime() - 3_600_000) }
    expect(await countStatistics(db, less, 1)).toMatchObject({ complete: true })
    await connection.close()
    await database.drop()
  },
)

test('money follows from the tokens of each model and the prices of now, and is unknown without a price', async () => {
  const { db } = h.app.services
  const { project } = await h.mutate('createProject', { name: 'costs' }, 'project { id }')
  const by = (await h.mutate('createApiKey', { name: 'c', role: 'ADMIN', projectId: project.id }, 'secret'))[
    'secret'
  ]
  const { agent } = await h.mutate('createAgent', { name: 'teller' }, 'agent { id }', by)
  for (const prompt of ['say one', 'say two']) {
    const started = await h.mutate('startGeneration', { agentId: agent.id, prompt }, 'generation { id }', by)
    await h.until(started['generation'].id, ['COMPLETED'])
  }
  const money = `{ statistics { cost unpricedTokens buckets { cost unpricedTokens } spending { agentId agent { name } model
    runs inputTokens cachedInputTokens outputTokens cost price { listedAt input cachedInput output } } } }`
  const readMoney = async () => (await h.gql(money, {}, by)).data['statistics']
  const first = await readMoney()
  expect(first.spending).toMatchObject([
    {
      agent: { name: 'teller' },
      model: 'builtin/rehearsal',
      runs: 2,
      cost: 0,
      price: { listedAt: expect.any(String), input: 0 },
    },
  ])
  expect(first).toMatchObject({ cost: 0, unpricedTokens: 0 })

  await query(
    db,
    sql`update generations set model = 'corp/own', input_tokens = 1000, cached_input_tokens = 400, output_tokens = 100
      where project_id = ${project.id}`,
  )
  expect(await readMoney()).toMatchObject({
    cost: 0,
    unpricedTokens: 2200,
    spending: [{ cost: null, price: null }],
  })
  const price = { model: 'corp/own', input: 10, cachedInput: 1, output: 50 }
  const set = await h.mutate('setModelPrice', price, 'price { listedAt input cachedInput output }', by)
  expect(set).toMatchObject({ price: { listedAt: null, cachedInput: 1 } })
  const dollars = (2 * (600 * 10 + 400 * 1 + 100 * 50)) / 1e6
  const priced = await readMoney()
  expect(priced.cost).toBeCloseTo(dollars, 12)
  expect(priced.spending[0].cost).toBeCloseTo(dollars, 12)
  expect(priced.buckets.reduce((sum: number, one: any) => sum + one.cost, 0)).toBeCloseTo(dollars, 12)
  expect(priced.unpricedTokens).toBe(0)

  await query(
    db,
    sql`update generations set model = 'openai/gpt-4o-2024-08-06' where project_id = ${project.id}`,
  )
  expect((await readMoney()).spending).toMatchObject([
    { price: { listedAt: expect.any(String), input: 2.5, output: 10 } },
  ])
  expect(await h.mutate('deleteModelPrice', { model: 'corp/own' }, 'deleted', by)).toMatchObject({
    deleted: true,
  })
  expect(await h.mutate('deleteModelPrice', { model: 'corp/own' }, 'deleted', by)).toMatchObject({
    deleted: false,
  })
})

test('a step costs the tools that it called in equal parts, and a run costs what its child runs do', async () => {
  const { db } = h.app.services
  const { project } = await h.mutate('createProject', { name: 'cost by tool' }, 'project { id }')
  const made = await h.mutate('createApiKey', { name: 'c', role: 'ADMIN', projectId: project.id }, 'secret')
  const by = made['secret'] as string
  const http = { url: `${fixtures.upstream.url}/x`, method: 'POST', inputSchema: { type: 'object' } }
  const toolIds: string[] = []
  for (const name of ['one', 'two'])
    toolIds.push((await h.mutate('createTool', { name, config: { http } }, 'tool { id }', by))['tool'].id)
  const child = await h.mutate('createAgent', { name: 'helper' }, 'agent { id }', by)
  const boss = { name: 'boss', toolIds, agentIds: [child['agent'].id] }
  const parent = await h.mutate('createAgent', boss, 'agent { id }', by)
  const prompt = 'call one {}\ncall one {}\ncall two {}\ncall helper {"message":"say hello"}'
  const input = { agentId: parent['agent'].id, prompt }
  const { generation } = await h.mutate('startGeneration', input, 'generation { id }', by)
  await h.until(generation.id, ['COMPLETED'])
  const usage = { inputTokens: 1000, cachedInputTokens: 0, outputTokens: 100 }
  await query(
    db,
    sql`update steps set model = 'corp/own', usage = usage || ${JSON.stringify(usage)}::jsonb
      where generation_id = ${generation.id} and step_index = 1`,
  )
  const readCosts = async () =>
    (
      await h.gql(
        `query($id: ID!) { generation(id: $id) { totalCost children { nodes { totalCost } } }
          statistics { tools { name calls seconds cost unpricedTokens } } }`,
        { id: generation.id },
        by,
      )
    ).data
  const tools = (data: Record<string, any>) =>
    Object.fromEntries(data['statistics'].tools.map((tool: any) => [tool.name, tool]))
  const before = await readCosts()
  expect(before['generation'].totalCost).toBe(0)
  expect(tools(before)).toMatchObject({
    one: { calls: 2, cost: 0, unpricedTokens: 550 },
    two: { calls: 1, cost: 0, unpricedTokens: 275 },
    helper: { calls: 1, cost: 0, unpricedTokens: 275 },
  })
  expect(tools(before)['one'].seconds).toBeGreaterThan(0)
  // The child has a model without a price: so the whole run costs an unknown sum.
  await query(
    db,
    sql`update generations set model = 'corp/own', input_tokens = 2000, output_tokens = 0
      where parent_id = ${generation.id}`,
  )
  expect((await readCosts())['generation']).toMatchObject({ totalCost: null })
  await h.mutate('setModelPrice', { model: 'corp/own', input: 10, output: 50 }, 'price { model }', by)
  const priced = await readCosts()
  const step = (1000 * 10 + 100 * 50) / 1e6
  expect(tools(priced)['one'].cost).toBeCloseTo(step / 2, 12)
  expect(tools(priced)['two'].cost).toBeCloseTo(step / 4, 12)
  expect(tools(priced)['two'].unpricedTokens).toBe(0)
  expect(priced['generation'].totalCost).toBeCloseTo(0.02, 12)
  expect(priced['generation'].children.nodes).toEqual([{ totalCost: expect.closeTo(0.02, 12) }])
})

test('tokens that a provider read from its cache are counted apart', async () => {
  const provider = await startRawProvider()
  try {
    await addProvider(h, provider, 'compatible', 'cheap')
    const { agent } = await h.mutate('createAgent', { name: 'cacher', model: 'cheap/m' }, 'agent { id }')
    const usage = { input: 1000, output: 10, cached: 800 }
    provider.script({ chunks: framesOf('compatible', { text: 'Hello.', usage }) })
    const start = { agentId: agent.id, prompt: 'Hello?' }
    const { generation } = await h.mutate('startGeneration', start, 'generation { id }')
    await h.until(generation.id, ['COMPLETED'])
    const { data } = await h.gql(
      '{ statistics { spending { model inputTokens cachedInputTokens outputTokens } } }',
    )
    expect(data['statistics'].spending).toContainEqual({
      model: 'cheap/m',
      inputTokens: 1000,
      cachedInputTokens: 800,
      outputTokens: 10,
    })
  } finally {
    await provider.close()
  }
})

test.each([
  ['a name without a provider', { model: 'gpt', input: 1, output: 1 }, 'model'],
  ['a price below nothing', { model: 'a/b', input: -1, output: 1 }, 'input'],
  ['a price beyond a million', { model: 'a/b', input: 1, output: 2_000_000 }, 'output'],
  ['a name of 300 characters', { model: `a/${'b'.repeat(300)}`, input: 1, output: 1 }, 'model'],
])('%s is refused with its path', async (_what, input, path) => {
  const refused = await h.mutate('setModelPrice', input, 'price { model }')
  expect(refused).toMatchObject({ __typename: 'ValidationError' })
  const { data } = await h.gql(
    'mutation ($input: SetModelPriceInput!) { setModelPrice(input: $input) { ... on ValidationError { issues { path } } } }',
    { input },
  )
  expect(data['setModelPrice'].issues[0].path).toEqual(['input', path])
})
