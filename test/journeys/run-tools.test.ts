/** Client tools of one run: shown to its model, run by its client, frozen with it, and nobody else's. */
import { expect, test } from 'vitest'
import { runtimeName } from '../../src/domain/tools/index.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))

const locate = {
  name: 'locate',
  description: 'Finds the user.',
  inputSchema: objectSchema({ room: { type: 'string' } }, ['room']),
}
const begin = (input: object) =>
  h.mutate(
    'startGeneration',
    input,
    'generation { id input { clientTools { name description inputSchema } } }',
  )
const callsOf = async (id: string) =>
  (await h.gql('query($id: ID!) { generation(id: $id) { toolCalls { name status tool { id } } } }', { id }))
    .data['generation'].toolCalls

test('the model calls a tool of the run, the client answers, and the run goes on', async () => {
  const agentId = await fixtures.agent()
  const made = await begin({
    agentId,
    prompt: 'call locate {"room": "a"}\nthen\nsay done',
    clientTools: [locate],
  })
  expect(made['generation'].input.clientTools).toEqual([locate])
  const { id } = made['generation']
  const waiting = await h.until(id, ['REQUIRES_ACTION'])
  expect(waiting['requiredAction'].toolCalls).toMatchObject([{ name: 'locate', arguments: { room: 'a' } }])
  expect((await fixtures.answer(id, { x: 1 }))['outcomes']).toMatchObject([{ status: 'ACCEPTED' }])
  expect(await h.until(id, ['COMPLETED'])).toMatchObject({ output: { text: 'done' } })
  expect(await callsOf(id)).toMatchObject([{ name: 'locate', status: 'SUCCEEDED', tool: null }])
})

test('arguments that do not fit the schema go back to the model', async () => {
  const agentId = await fixtures.agent()
  const id = await fixtures.start(agentId, 'call locate {"room": 5}\nthen\nsay done', {
    clientTools: [locate],
  })
  await h.until(id, ['COMPLETED'])
  expect(await callsOf(id)).toMatchObject([{ status: 'INVALID' }])
})

test('neither another run, a continued thread nor a child run has them', async () => {
  const agentId = await fixtures.agent()
  const clientTools = [locate]
  const first = await fixtures.start(agentId, 'say one', { clientTools })
  await h.until(first, ['COMPLETED'])
  const { data } = await h.gql('query($id: ID!) { generation(id: $id) { threadId } }', { id: first })
  const { threadId } = data['generation']
  const next = await fixtures.start(agentId, 'call locate {"room": "a"}\nthen\nsay done', { threadId })
  await h.until(next, ['COMPLETED'])
  expect(await callsOf(next)).toMatchObject([{ status: 'ERRORED' }])

  const parent = await fixtures.agent({ agentIds: [agentId] })
  const { name } = (await h.gql('query($id: ID!) { agent(id: $id) { name } }', { id: agentId })).data['agent']
  const message = JSON.stringify({ message: 'call locate {"room": "a"}\nthen\nsay child' })
  const root = await fixtures.start(parent, `call ${runtimeName([name])} ${message}`, { clientTools })
  await h.until(root, ['COMPLETED'])
  const { children } = (
    await h.gql('query($id: ID!) { generation(id: $id) { children { nodes { id } } } }', { id: root })
  ).data['generation']
  expect(await callsOf(children.nodes[0].id)).toMatchObject([{ name: 'locate', status: 'ERRORED' }])
})

const refused = [
  { why: 'no tool name', tool: { ...locate, name: '1 x' }, path: ['0', 'name'] },
  { why: 'the hidden tool of the loop', tool: { ...locate, name: 'final_answer' }, path: ['0', 'name'] },
  { why: 'a name of the agent', tool: { ...locate, name: 'look' }, path: ['0', 'name'] },
  {
    why: 'no schema',
    tool: { ...locate, inputSchema: { type: 'nothing' } },
    path: ['0', 'inputSchema', 'type'],
  },
  {
    why: 'a remote reference',
    tool: { ...locate, inputSchema: { $ref: 'http://127.0.0.1/x' } },
    path: ['0', 'inputSchema', '$ref'],
  },
]

test.each(refused)('refuses $why, with its path', async ({ tool, path }) => {
  const refusal = await begin({ agentId: await fixtures.agent(), prompt: 'say x', clientTools: [tool] })
  expect(refusal['issues']).toMatchObject([{ path: ['input', 'clientTools', ...path] }])
})

test('refuses two of one name, too many, and schemas that are too large together', async () => {
  const agentId = await fixtures.agent()
  const start = (clientTools: object[]) => begin({ agentId, prompt: 'say x', clientTools })
  expect((await start([locate, locate]))['issues']).toMatchObject([
    { path: ['input', 'clientTools', '1', 'name'] },
  ])
  const many = Array.from({ length: 65 }, (_, i) => ({ ...locate, name: `t${i}` }))
  expect((await start(many))['issues']).toMatchObject([{ path: ['input', 'clientTools'] }])
  const large = Array.from({ length: 10 }, (_, i) => ({
    name: `t${i}`,
    inputSchema: { description: 'x'.repeat(20_000) },
  }))
  expect((await start(large))['issues']).toMatchObject([{ path: ['input', 'clientTools'] }])
})

test('a repeat with the idempotency key compares them', async () => {
  const input = {
    agentId: await fixtures.agent(),
    prompt: 'say x',
    idempotencyKey: 'k1',
    clientTools: [locate],
  }
  const first = await begin(input)
  expect((await begin(input))['generation'].id).toBe(first['generation'].id)
  const other = await begin({ ...input, clientTools: [{ ...locate, description: 'Other.' }] })
  expect(other['code']).toBe('IDEMPOTENCY_CONFLICT')
})

test('the gate of the agent stops them as well, and an approved call goes to the client', async () => {
  const agentId = await fixtures.agent({ gate: { mode: 'ALWAYS' } })
  const prompt = 'call locate {"room": "a"}\nthen\nsay done'
  const id = await fixtures.start(agentId, prompt, { clientTools: [locate] })
  await h.until(id, ['AWAITING_APPROVAL'])
  const { data } = await h.gql(
    'query($id: ID!) { generation(id: $id) { requiredAction { approvals { id } } } }',
    { id },
  )
  const approvalId = data['generation'].requiredAction.approvals[0].id
  await h.mutate('decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id status }')
  await fixtures.answer(id)
  expect(await h.until(id, ['COMPLETED'])).toMatchObject({ output: { text: 'done' } })
  expect(await callsOf(id)).toMatchObject([{ status: 'SUCCEEDED' }])
})

test('toolChoice and stop conditions may name them', async () => {
  const agentId = await fixtures.agent()
  const forced = { clientTools: [locate], toolChoice: { tool: 'locate' } }
  const id = await fixtures.start(agentId, 'room', { ...forced, stopConditions: [{ hasToolCall: 'locate' }] })
  expect(await h.until(id, ['COMPLETED'])).toMatchObject({ stopReason: 'STOP_CONDITION' })
  const without = await begin({ agentId, prompt: 'room', toolChoice: { tool: 'locate' } })
  expect(without['issues']).toMatchObject([{ path: ['input', 'toolChoice', 'tool'] }])
})
