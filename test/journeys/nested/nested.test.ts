/** Agents call agents: the answer is the result of a call, within the limits of nesting and the requester's rights. */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { runtimeName } from '../../../src/domain/tools/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { openHarness } from '../../support/harness.ts'
import { asking, chainUnder, makeAgent, makeChain, untilAsked } from '../../support/nested-fixtures.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))

test('a chain of five answers, and the sixth run is a tool error with which the fifth continues', async () => {
  const chain = await makeChain(h, 6)
  const root = await fixtures.start(chain.agents[0]!.id, chain.prompt('say nobody reads this'))
  const ended = await h.until(root, ['COMPLETED', 'FAILED'])
  expect(ended).toMatchObject({ status: 'COMPLETED', output: { text: 'back at 1' } })
  const runs = await chainUnder(h, root)
  expect(runs.map((run) => [run['depth'], run['status']])).toEqual(
    [0, 1, 2, 3, 4].map((depth) => [depth, 'COMPLETED']),
  )
  for (const [i, run] of runs.slice(1).entries()) {
    expect(run).toMatchObject({ parent: { id: runs[i]!['id'] }, root: { id: root } })
    expect(runs[i]!['toolCalls']).toMatchObject([
      { status: 'SUCCEEDED', child: { id: run['id'] }, content: [{ text: run['output'].text }] },
    ])
  }
  expect(runs[4]!['toolCalls']).toMatchObject([
    { status: 'ERRORED', errorCode: 'nesting_too_deep', child: null },
  ])
  expect(runs[4]!['output'].text).toBe('back at 5')
})

describe('saving an agent that may ask others', () => {
  test('refuses what is no agent of the project, and two things of one name, with their paths', async () => {
    const name = 'look'
    const twin = await makeAgent(h, { name })
    const create = (input: object) => h.mutate('createAgent', { name: 'asker', ...input }, 'agent { id }')
    expect((await create({ agentIds: [twin, 'agt_nobody'] }))['issues']).toEqual([
      { path: ['input', 'agentIds', '1'], message: 'is not the id of an agent of this project' },
    ])
    expect((await create({ agentIds: [twin], toolIds: [fixtures.tools.look] }))['issues']).toEqual([
      { path: ['input', 'agentIds'], message: 'gives two tools the runtime name "look"' },
    ])
    const unknown = {
      agentIds: [twin],
      stopConditions: [{ hasToolCall: 'nobody' }],
      activeToolIds: ['tool_x'],
    }
    expect((await create(unknown))['issues'][0]).toMatchObject({ path: ['input', 'activeToolIds', '0'] })
    const many = Array.from({ length: 51 }, () => twin)
    expect((await create({ agentIds: many }))['issues'][0]).toMatchObject({ path: ['input', 'agentIds'] })
  })

  test('an agent may name itself, and toolChoice, stop conditions and active ids reach agents', async () => {
    const echo = await makeAgent(h, { name: 'echo' })
    const id = await makeAgent(h, {
      name: 'caller',
      agentIds: [echo],
      activeToolIds: [echo],
      toolChoice: { tool: 'echo' },
      stopConditions: [{ hasToolCall: 'echo' }],
    })
    const self = await h.mutate(
      'updateAgent',
      { id, agentIds: [echo, id] },
      'agent { agentIds agents { name } activeToolIds }',
    )
    expect(self['agent']).toEqual({
      agentIds: [echo, id],
      agents: [{ name: 'echo' }, { name: 'caller' }],
      activeToolIds: [echo],
    })
    const run = await fixtures.start(id, 'call echo {"message":"say from the echo"}')
    const ended = await h.until(run, ['COMPLETED', 'FAILED'], 'toolCalls { name status content }')
    expect(ended).toMatchObject({
      stopReason: 'STOP_CONDITION',
      toolCalls: [{ name: 'echo', status: 'SUCCEEDED', content: [{ text: 'from the echo' }] }],
    })
  })
})

test('more than eight child runs at once wait for their turn, and the results are in call order', async () => {
  const worker = await makeAgent(h, { name: 'worker', toolIds: [fixtures.tools.ask] })
  const asker = await makeAgent(h, { name: 'asker of ten', agentIds: [worker] })
  const lines = Array.from(
    { length: 10 },
    (_, i) => `call worker ${JSON.stringify({ message: `call ask {"word":"${i}"}\nthen\nsay ${i}` })}`,
  )
  const root = await fixtures.start(asker, `${lines.join('\n')}\nthen\nsay all ten`)
  const waiting = await untilAsked(h, root, 8)
  const statuses = waiting['toolCalls'].map((call: { status: string }) => call.status)
  expect(statuses).toEqual([...Array(8).fill('EXECUTING'), 'PROPOSED', 'PROPOSED'])
  await answerAll(root, waiting)
  await answerAll(root, await untilAsked(h, root, 10))
  const ended = await h.until(root, ['COMPLETED', 'FAILED'], 'toolCalls { content }')
  expect(ended['output'].text).toBe('all ten')
  expect(ended['toolCalls'].map((call: any) => call.content[0].text)).toEqual([...'0123456789'])
})

test('an agent without parallel calls runs them one by one, runs of agents too', async () => {
  const worker = await makeAgent(h, { name: 'slow worker' })
  const name = (await named(worker))!
  const asker = await makeAgent(h, {
    name: 'serial',
    agentIds: [worker],
    toolIds: [fixtures.tools.look],
    parallelToolCalls: false,
  })
  const ask = (text: string) => `call ${name} ${JSON.stringify({ message: `say ${text}` })}`
  const root = await fixtures.start(
    asker,
    `${ask('one')}\ncall look {"word":"two"}\n${ask('three')}\nthen\nsay done`,
  )
  await h.until(root, ['COMPLETED', 'FAILED'])
  const { data } = await h.gql(
    `query($id: ID!) { generation(id: $id) { events(first: 100) { nodes { type
      ... on ToolCallStartedEvent { name } ... on ToolCallSettledEvent { name } } } } }`,
    { id: root },
  )
  const order = data['generation'].events.nodes
    .filter((event: any) => /^TOOL_CALL_ST|SETTLED/.test(event.type))
    .map((event: any) => `${event.type === 'TOOL_CALL_STARTED' ? '+' : '-'}${event.name}`)
  expect(order).toEqual([`+${name}`, `-${name}`, '+look', '-look', `+${name}`, `-${name}`])
})

test('a run that fails is an error result with its code, and the parent continues', async () => {
  const broken = await makeAgent(h, { name: 'broken', model: 'nowhere/model' })
  const asker = await makeAgent(h, { name: 'asker of broken', agentIds: [broken] })
  const root = await fixtures.start(asker, asking('broken', 'hello', 'went on'))
  const ended = await h.until(
    root,
    ['COMPLETED', 'FAILED'],
    'toolCalls { status errorCode child { status } }',
  )
  expect(ended).toMatchObject({
    output: { text: 'went on' },
    toolCalls: [{ status: 'ERRORED', errorCode: 'model_not_configured', child: { status: 'FAILED' } }],
  })
})

test('a platform tool that starts a generation starts a child run, with the arguments of the operation', async () => {
  const worker = await makeAgent(h, { name: 'platform worker', maxSteps: 9 })
  const config = { platform: { actions: ['start-generation', 'agent'] } }
  const { tool } = await h.mutate(
    'createTool',
    { name: 'our', config, presetParameters: { agentId: worker } },
    'tool { id }',
  )
  const asker = await makeAgent(h, { name: 'platform asker', toolIds: [tool.id] })
  const args = { prompt: 'say from below', maxSteps: 3 }
  const root = await fixtures.start(
    asker,
    `call our_start-generation ${JSON.stringify(args)}\ncall our_start-generation ${JSON.stringify({ ...args, idempotencyKey: 'k' })}\nthen\nsay done`,
  )
  await h.until(root, ['COMPLETED', 'FAILED'])
  const [run, child] = await chainUnder(h, root)
  expect(run!['toolCalls']).toMatchObject([
    { status: 'SUCCEEDED', content: [{ text: 'from below' }], child: { id: child!['id'] } },
    { status: 'ERRORED', errorCode: 'invalid_arguments', child: null },
  ])
  const direct = await h.mutate(
    'callTool',
    { toolId: tool.id, action: 'start-generation', arguments: { prompt: 'say alone' } },
    'toolCall { status child { id } structuredContent }',
  )
  expect(direct['toolCall']).toMatchObject({
    status: 'SUCCEEDED',
    child: null,
    structuredContent: { generation: { status: 'QUEUED' } },
  })
})

test('attachments are passed on with a message, and one that does not exist is an error result', async () => {
  const reader = await makeAgent(h, { name: 'reader' })
  const asker = await makeAgent(h, { name: 'asker of reader', agentIds: [reader] })
  const { file, uploadUrl } = await h.mutate(
    'presignUpload',
    { filename: 'a.txt', contentType: 'text/plain' },
    'file { id } uploadUrl',
  )
  await fetch(uploadUrl, { method: 'PUT', body: 'hello', headers: { 'content-type': 'text/plain' } })
  const ask = (fileId: string) =>
    `call reader ${JSON.stringify({ message: 'say read', attachments: [{ file_id: fileId }] })}`
  const root = await fixtures.start(asker, `${ask(file.id)}\n${ask('file_nobody')}\nthen\nsay done`)
  await h.until(root, ['COMPLETED', 'FAILED'])
  const [run, child] = await chainUnder(h, root)
  expect(run!['toolCalls']).toMatchObject([
    { status: 'SUCCEEDED', content: [{ text: 'read' }] },
    { status: 'ERRORED', errorCode: 'invalid', child: null },
  ])
  const rows = await query<{ input: unknown }>(
    h.app.services.db,
    sql`select input from generations where id = ${child!['id']}`,
  )
  expect(rows[0]!.input).toMatchObject([{ parts: [{ text: 'say read' }, { fileId: file.id }] }])
})

test('a platform tool starts no run for a requester who may not start one', async () => {
  const worker = await makeAgent(h, { name: 'not for callers' })
  const config = { platform: { actions: ['start-generation'] } }
  const { tool } = await h.mutate('createTool', { name: 'starter', config }, 'tool { id }')
  const asker = await makeAgent(h, { name: 'platform asker of it', toolIds: [tool.id] })
  const policy = {
    statement: [
      { effect: 'Allow', action: ['*'], resource: ['*'] },
      { effect: 'Deny', action: ['generations:Start'], resource: [`agent/${worker}`] },
    ],
  }
  const { secret } = await h.mutate('createApiKey', { name: 'no start', policy }, 'secret')
  const prompt = `call starter_start-generation ${JSON.stringify({ agentId: worker, prompt: 'hello' })}\nthen\nsay went on`
  const made = await h.mutate('startGeneration', { agentId: asker, prompt }, 'generation { id }', secret)
  const ended = await h.until(
    made['generation'].id,
    ['COMPLETED'],
    'toolCalls { status errorCode child { id } }',
  )
  expect(ended).toMatchObject({
    output: { text: 'went on' },
    toolCalls: [{ status: 'ERRORED', errorCode: 'forbidden', child: null }],
  })
})

test('the root has its own usage and the total, and its budget stops a run two levels down', async () => {
  const usage = 'usage 100 100\n'
  const chain = await makeChain(h, 3, (level) =>
    level === 1 ? { budget: { tokensPerGeneration: 700 } } : {},
  )
  const [, second, third] = chain.agents
  const innermost = `${usage}call ask {"word":"x"}\nthen\nsay never said`
  await h.mutate('updateAgent', { id: third!.id, toolIds: [fixtures.tools.ask] }, 'agent { id }')
  const root = await fixtures.start(
    chain.agents[0]!.id,
    usage + asking(second!.name, usage + asking(third!.name, innermost)),
  )
  const open = await untilAsked(h, root, 1)
  expect(open).toMatchObject({ usage: { totalTokens: 200 }, totalUsage: { totalTokens: 600 } })
  // As if another run of the chain had used it meanwhile.
  await h.app.services.db.execute(
    sql`update generations set input_tokens = input_tokens + 100 where id = ${root}`,
  )
  await answerAll(root, open)
  const ended = await h.until(root, ['COMPLETED', 'FAILED'])
  const runs = await chainUnder(h, root)
  expect(runs.map((run) => run['stopReason'])).toEqual(['BUDGET', 'BUDGET', 'BUDGET'])
  expect(ended['truncated']).toBe(true)
})

async function answerAll(generationId: string, waiting: Record<string, any>): Promise<void> {
  const outputs = waiting['requiredAction'].toolCalls.map((call: { id: string }) => ({
    toolCallId: call.id,
    output: 'ok',
  }))
  const answer = await h.mutate(
    'submitToolOutputs',
    { generationId, outputs },
    'outcomes { status error { code message } }',
  )
  for (const outcome of answer['outcomes']) expect(outcome).toMatchObject({ status: 'ACCEPTED' })
}

async function named(id: string): Promise<string | undefined> {
  const { data } = await h.gql('query($id: ID!) { agent(id: $id) { name } }', { id })
  return runtimeName([data['agent'].name])
}
