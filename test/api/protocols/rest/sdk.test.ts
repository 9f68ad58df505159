/** SOAT's own client, @soat/sdk, against a running server: every operation of /api/v1 that it knows. */
import { SoatClient } from '@soat/sdk'
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { judgeRest } from '../../../support/rest-judge.ts'
import { makeFixtures, objectSchema, type Fixtures } from '../../../support/fixtures.ts'
import { forFile } from '../../../support/for-file.ts'

const judge = await forFile(judgeRest())
const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const soat = new SoatClient({ baseUrl: h.url, token: adminKey })

/** The data of an answer; fails with the error, as SOAT's snippets do. */
async function dataOf<T>(
  answer: Promise<{ data?: T | undefined; error?: unknown }>,
): Promise<NonNullable<T>> {
  const { data, error } = await answer
  if (error) throw new Error(JSON.stringify(error))
  return data!
}

const errorOf = async (answer: Promise<{ error?: unknown; response?: Response | undefined }>) => {
  const { error, response } = await answer
  return { status: response?.status, ...(error as { error: Record<string, any> }).error }
}

const say = (content: string) => ({ messages: [{ role: 'user' as const, content }] })
const word = objectSchema({ word: { type: 'string' } }, ['word'])

/** Runs a prompt on a new agent with all tools of the fixtures. */
async function runOf(prompt: string, headers: Record<string, string> = {}) {
  const agentId = await fixtures.agent()
  const answer = soat.agents.createAgentGeneration({
    path: { agent_id: agentId },
    body: say(prompt),
    headers: headers as never,
  })
  return { agentId, run: (await dataOf(answer)) as Record<string, any> }
}

const submit = (agentId: string, run: Record<string, any>, output: unknown) =>
  soat.agents.submitAgentToolOutputs({
    path: { agent_id: agentId, generation_id: run['generation_id'] },
    body: {
      tool_outputs: run['tool_calls'].map((call: any) => ({ tool_call_id: call.tool_call_id, output })),
    },
  })

test('a tool is created, read, listed, changed and deleted, in the names of SOAT', async () => {
  const execute = {
    url: `${fixtures.upstream.url}/weather/{city}?unit={unit}`,
    method: 'GET',
    headers: { 'x-a': 'b' },
  }
  const parameters = objectSchema({ city: { type: 'string' }, unit: { type: 'string' } }, ['city', 'unit'])
  const body = { name: 'get-weather', type: 'http', description: 'Weather', execute, parameters } as const
  const made = await dataOf(soat.tools.createTool({ body: { ...body, preset_parameters: { unit: 'c' } } }))
  expect(made).toMatchObject({
    ...body,
    id: expect.stringMatching(/^tool_/),
    project_id: expect.stringMatching(/^proj_/),
    mcp: null,
    actions: null,
    preset_parameters: { unit: 'c' },
    created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    updated_at: expect.any(String),
  })
  const path = { tool_id: made.id! }
  expect(await dataOf(soat.tools.getTool({ path }))).toEqual(made)
  expect((await dataOf(soat.tools.listTools())).data).toContainEqual(made)
  const changed = await dataOf(soat.tools.updateTool({ path, body: { description: null } }))
  expect(changed).toMatchObject({ ...body, description: null, preset_parameters: { unit: 'c' } })
  const moved = { url: `${fixtures.upstream.url}/sky/{city}?unit={unit}` }
  expect(await dataOf(soat.tools.updateTool({ path, body: { execute: moved } }))).toMatchObject({
    execute: { ...moved, method: 'POST', headers: {} },
    parameters,
  })
  const { response } = await soat.tools.deleteTool({ path })
  expect(response?.status).toBe(204)
  expect(await errorOf(soat.tools.getTool({ path }))).toMatchObject({ status: 404, code: 'NOT_FOUND' })
})

test('a soat tool takes SOAT’s names of actions that exist, and refuses an unknown one with its path', async () => {
  const make = (name: string, actions: string[]) =>
    soat.tools.createTool({ body: { name, type: 'soat', actions } })
  const made = await dataOf(make('platform', ['list-tools', 'get-agent', 'create-tool']))
  expect(made).toMatchObject({ type: 'soat', actions: ['tools', 'agent', 'create-tool'], parameters: null })
  const input = { first: 1 }
  const path = { tool_id: made.id! }
  const listed = await dataOf(soat.tools.callTool({ path, body: { action: 'list-tools', input } }))
  expect(listed['nodes']).toHaveLength(1)
  expect(await errorOf(make('documents', ['search-documents']))).toMatchObject({
    status: 400,
    code: 'INVALID',
    details: { issues: [{ path: ['actions', '0'], message: '"search-documents" is not a platform action' }] },
  })
})

test('an agent is created, read, listed, changed and deleted', async () => {
  const body = {
    ai_provider_id: 'builtin',
    model: 'rehearsal',
    name: 'helper',
    instructions: 'Help.',
    tool_ids: [fixtures.tools.look, fixtures.tools.ask],
    max_steps: 5,
    tool_choice: { type: 'tool', name: 'look' },
    stop_conditions: [{ type: 'hasToolCall', tool_name: 'ask' }],
    step_rules: [{ step: 1, tool_choice: 'auto', active_tool_ids: [fixtures.tools.look] }],
    temperature: 0.5,
  }
  const made = await dataOf(soat.agents.createAgent({ body }))
  expect(made).toMatchObject({ ...body, id: expect.stringMatching(/^agt_/), active_tool_ids: null })
  const path = { agent_id: made.id! }
  expect(await dataOf(soat.agents.getAgent({ path }))).toEqual(made)
  expect(await dataOf(soat.agents.listAgents())).toContainEqual(made)
  const changed = await dataOf(
    soat.agents.updateAgent({ path, body: { instructions: null, tool_choice: 'auto' } }),
  )
  expect(changed).toMatchObject({ ...body, instructions: null, tool_choice: 'auto' })
  expect((await soat.agents.deleteAgent({ path })).response?.status).toBe(204)
  expect(await errorOf(soat.agents.getAgent({ path }))).toMatchObject({ status: 404, code: 'NOT_FOUND' })
})

test('a tool is called directly: raw output, a failing service, a client tool, bad input', async () => {
  const call = (tool: keyof Fixtures['tools'], input: Record<string, unknown>) =>
    soat.tools.callTool({ path: { tool_id: fixtures.tools[tool] }, body: { input } })
  expect(await dataOf(call('look', { word: 'São Paulo' }))).toEqual({ saw: '/look/S%C3%A3o%20Paulo' })
  expect(await errorOf(call('ask', { word: 'x' }))).toMatchObject({ status: 422, code: 'INVALID' })
  expect(await errorOf(call('act', { word: 7 }))).toMatchObject({
    status: 400,
    details: { issues: [{ path: ['input', 'word'] }] },
  })
  const execute = { url: `${fixtures.upstream.url}/gone`.replace(/:\d+/, ':1'), method: 'GET' }
  const dead = await dataOf(soat.tools.createTool({ body: { name: 'dead', execute, parameters: word } }))
  const answer = soat.tools.callTool({ path: { tool_id: dead.id! }, body: { input: { word: 'x' } } })
  expect(await errorOf(answer)).toMatchObject({
    status: 502,
    code: 'UPSTREAM',
    details: { status: 'errored' },
  })
})

test('generate returns the text of a run, also one with a server tool', async () => {
  expect((await runOf('say hello')).run).toMatchObject({
    id: expect.stringMatching(/^gen_/),
    status: 'completed',
    text: 'hello',
    tool_calls: null,
    required_action: null,
    error: null,
  })
  const { run } = await runOf('call look {"word":"moon"}')
  expect(run).toMatchObject({ status: 'completed', text: expect.stringContaining('/look/moon') })
})

test('a client tool pauses the run and its output resumes it', async () => {
  const { agentId, run } = await runOf('call ask {"word":"x"}')
  const tool_calls = [
    { tool_call_id: expect.stringMatching(/^call_/), tool_name: 'ask', args: { word: 'x' } },
  ]
  expect(run).toMatchObject({
    status: 'requires_action',
    generation_id: run['id'],
    tool_calls,
    required_action: { type: 'submit_tool_outputs', tool_calls },
  })
  const done = await dataOf(submit(agentId, run, 'col1,col2\n1,2'))
  expect(done).toMatchObject({ status: 'completed', text: expect.stringContaining('col1,col2') })
})

test('the same outputs twice, by two clients at once, and over GraphQL run the loop on once', async () => {
  const { agentId, run } = await runOf('call ask {"word":"x"}')
  const outputs = run['tool_calls'].map((call: any) => ({ toolCallId: call.tool_call_id, output: 'yes' }))
  const [one, two, graphql] = await Promise.all([
    dataOf(submit(agentId, run, 'yes')),
    dataOf(submit(agentId, run, 'yes')),
    h.mutate('submitToolOutputs', { generationId: run['id'], outputs }, 'outcomes { status error { code } }'),
  ])
  expect([one.status, two.status]).toEqual(['completed', 'completed'])
  expect(graphql['outcomes']).toMatchObject([{ error: null }])
  expect(await dataOf(submit(agentId, run, 'yes'))).toEqual(one)
  const url = `${h.url}/api/v1/agents/${agentId}/generate/${run['id']}`
  const headers = { authorization: `Bearer ${adminKey}`, accept: 'text/event-stream' }
  const log = await (await fetch(url, { headers })).text()
  for (const type of ['tool_call.settled', 'generation.resumed', 'generation.completed'])
    expect(log.split(`event: ${type}\n`), type).toHaveLength(2)
  expect(await errorOf(submit(agentId, run, 'no'))).toMatchObject({
    status: 409,
    code: 'GENERATION_TERMINAL',
  })
})

test('one refused output refuses all of them, and says which', async () => {
  const { agentId, run } = await runOf('call ask {"word":"x"}')
  const path = { agent_id: agentId, generation_id: run['id'] as string }
  const given = { tool_call_id: run['tool_calls'][0].tool_call_id as string, output: 'yes' }
  const body = { tool_outputs: [given, { tool_call_id: 'call_unknown', output: 'yes' }] }
  expect(await errorOf(soat.agents.submitAgentToolOutputs({ path, body }))).toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
    message: expect.stringMatching(/^tool_outputs\.1: /),
  })
  expect(await dataOf(submit(agentId, run, 'other'))).toMatchObject({ status: 'completed' })
})

test.each(['APPROVE', 'REJECT', 'EDIT'])(
  'a gate is a status of its own, and a person says %s',
  async (said) => {
    const verdict = said === 'REJECT' ? 'REJECT' : 'APPROVE'
    const edit = said === 'EDIT' ? { arguments: { word: 'y' } } : {}
    const gate = { autoApprove: false }
    const http = { url: `${fixtures.upstream.url}/${said}`, inputSchema: word }
    const name = `pay_${said}`
    const { tool } = await h.mutate('createTool', { name, gate, config: { http } }, 'tool { id }')
    const agentId = await fixtures.agent({ toolIds: [tool.id] })
    const path = { agent_id: agentId }
    const prompt = say(`call ${name} {"word":"x"}`)
    const short = { path, body: prompt, headers: { prefer: 'wait=1' } as never }
    const stopped = (await dataOf(soat.agents.createAgentGeneration(short))) as Record<string, any>
    expect(stopped).toMatchObject({
      status: 'awaiting_approval',
      required_action: null,
      approvals: [{ approval_id: expect.stringMatching(/^apr_/), tool_name: name }],
    })
    const decide = (approvalId: string) =>
      h.mutate('decideApproval', { approvalId, verdict, ...edit }, 'approval { status }')
    const url = `${h.url}/api/v1/agents/${agentId}/generate/${stopped['id']}`
    const headers = { authorization: `Bearer ${adminKey}`, prefer: 'wait=20' }
    const polled = fetch(url, { headers })
    await decide(stopped['approvals'][0].approval_id)
    const ran = { word: said === 'EDIT' ? 'y' : 'x' }
    const saw = () =>
      fixtures.upstream.seen.filter(({ url: at }) => at === `/${said}`).map(({ body }) => JSON.parse(body))
    expect(await (await polled).json()).toMatchObject({ status: 'completed', approvals: [] })
    expect(saw()).toEqual(verdict === 'APPROVE' ? [ran] : [])

    const direct = { path: { tool_id: tool.id }, body: { input: { word: 'x' } } }
    const waiting = await soat.tools.callTool({ ...direct, headers: { prefer: 'wait=0' } as never })
    expect(waiting.response?.status).toBe(202)
    const state = waiting.data as Record<string, any>
    expect(state).toMatchObject({
      status: 'awaiting_approval',
      tool_call_id: expect.stringMatching(/^call_/),
    })
    const place = `${h.url}${waiting.response?.headers.get('location')}`
    const settled = fetch(place, { headers })
    await decide(state['approvals'][0].approval_id)
    expect(await (await settled).json()).toMatchObject(
      verdict === 'APPROVE'
        ? { status: 'succeeded', output: { saw: `/${said}` }, is_error: false }
        : { status: 'rejected' },
    )
    expect(saw()).toEqual(verdict === 'APPROVE' ? [ran, ran] : [])
  },
)

test('a run that fails is a state with its error, not an HTTP error', async () => {
  const agentId = await fixtures.agent({ model: 'nobody/none' })
  const run = await dataOf(
    soat.agents.createAgentGeneration({ path: { agent_id: agentId }, body: say('say hello') }),
  )
  expect(run).toMatchObject({ status: 'failed', text: null, error: { code: 'MODEL_NOT_CONFIGURED' } })
})

test('a repeat with the same Idempotency-Key joins the first run or call, also over GraphQL', async () => {
  const agentId = await fixtures.agent()
  const given = {
    path: { agent_id: agentId },
    body: say('call act {"word":"once"}'),
    headers: { 'Idempotency-Key': 'k1' } as never,
  }
  const before = fixtures.upstream.seen.length
  const [one, two] = await Promise.all([1, 2].map(() => dataOf(soat.agents.createAgentGeneration(given))))
  expect(two!.id).toBe(one!.id)
  expect(fixtures.upstream.seen.length - before).toBe(1)
  const other = { ...given, body: say('say something else') }
  expect(await errorOf(soat.agents.createAgentGeneration(other))).toMatchObject({
    status: 409,
    code: 'IDEMPOTENCY_CONFLICT',
  })
  const call = {
    path: { tool_id: fixtures.tools.act },
    body: { input: { word: 'x' } },
    headers: { 'Idempotency-Key': 'k2' } as never,
  }
  const calls = await Promise.all([soat.tools.callTool(call), soat.tools.callTool(call)])
  expect(calls.map(({ data }) => data)).toEqual([{ saw: '/act' }, { saw: '/act' }])
  const input = { toolId: fixtures.tools.act, arguments: { word: 'x' }, idempotencyKey: 'k2' }
  await h.mutate('callTool', input, 'toolCall { status }')
  expect(fixtures.upstream.seen.length - before).toBe(2)
})

test('a key of another project, no key and unknown ids', async () => {
  const made = await h.mutate('createProject', { name: 'elsewhere' }, 'project { id }')
  const key = await h.mutate(
    'createApiKey',
    { projectId: made['project'].id, name: 'foreign', role: 'ADMIN' },
    'secret',
  )
  const foreign = new SoatClient({ baseUrl: h.url, token: key['secret'] })
  const { agentId, run } = await runOf('call ask {"word":"x"}')
  const body = say('say hello')
  const tool = { path: { tool_id: fixtures.tools.act } }
  const agent = { path: { agent_id: agentId } }
  const generation = { path: { agent_id: agentId, generation_id: run['id'] as string } }
  const outputs = { tool_outputs: [{ tool_call_id: run['tool_calls'][0].tool_call_id as string, output: 1 }] }
  const answers = [
    foreign.tools.getTool(tool),
    foreign.tools.updateTool({ ...tool, body: { description: 'mine' } }),
    foreign.tools.deleteTool(tool),
    foreign.tools.callTool({ ...tool, body: { input: { word: 'x' } } }),
    foreign.agents.getAgent(agent),
    foreign.agents.updateAgent({ ...agent, body: { instructions: 'mine' } }),
    foreign.agents.deleteAgent(agent),
    foreign.agents.createAgentGeneration({ ...agent, body }),
    foreign.agents.submitAgentToolOutputs({ ...generation, body: outputs }),
    soat.tools.getTool({ path: { tool_id: 'tool_unknown' } }),
    soat.agents.submitAgentToolOutputs({
      path: { agent_id: await fixtures.agent(), generation_id: run['id'] as string },
      body: outputs,
    }),
  ]
  for (const answer of answers)
    expect(await errorOf(answer as never)).toMatchObject({ status: 404, code: 'NOT_FOUND' })
  expect((await dataOf(foreign.tools.listTools())).data).toEqual([])
  for (const token of [undefined, 'gh_wrong'])
    expect(
      await errorOf(new SoatClient({ baseUrl: h.url, ...(token ? { token } : {}) }).tools.listTools()),
    ).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
})

test('every response so far is as the OpenAPI document says', async () => {
  const { faults, seen } = await judge.verdict()
  expect(faults).toEqual([])
  expect(seen.size).toBeGreaterThan(4)
})
