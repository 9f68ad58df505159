/** What led to a question: agents and messages, for whom may read the run, and never a masked value. */
import { expect, test } from 'vitest'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { asking, makeAgent } from '../../support/nested-fixtures.ts'
import { statementsDuring } from '../../support/statements.ts'

const { h, fixtures, gate } = await useGateFixtures()

const askedFields = 'asked { agents { id name } messages { role text isCut } }'
const askedOf = async (id: string, key?: string): Promise<any> => {
  const { data, errors } = await h.gql(
    `query($id: ID!) { approval(id: $id) { ${askedFields} } }`,
    { id },
    key,
  )
  expect(errors).toBeUndefined()
  return data['approval'].asked
}
const texts = (asked: any): string[] => asked.messages.map(({ text }: any) => text)
const firstPending = async (generationId: string): Promise<string> =>
  (await gate.pending(generationId))[0]!['id']
const newKey = async (input: object) => {
  const { secret, ...refused } = await h.mutate('createApiKey', { name: 'k', ...input }, 'secret')
  if (!secret) throw new Error(JSON.stringify(refused))
  return secret as string
}
const allow = (action: string[], ...more: object[]) => ({
  policy: { statement: [{ effect: 'Allow', action, resource: ['*'] }, ...more] },
})

test('a chain of agents is named from the first to the one that asks, with what the user said to the first', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const billing = await makeAgent(h, { name: 'billing', toolIds: [tool.id] })
  const concierge = await makeAgent(h, { name: 'concierge', agentIds: [billing] })
  const boss = await makeAgent(h, { name: 'boss', agentIds: [concierge] })
  const prompt = asking('concierge', asking('billing', `call ${tool.name} {"amount":5}`))
  const generationId = await fixtures.start(boss, prompt)
  const asked = await askedOf(await firstPending(generationId))
  expect(asked).toEqual({
    agents: [
      { id: boss, name: 'boss' },
      { id: concierge, name: 'concierge' },
      { id: billing, name: 'billing' },
    ],
    messages: [{ role: 'USER', text: prompt, isCut: false }],
  })
})

test('it has the first message and the last ones before the call, without the step that asks', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const agentId = await makeAgent(h, { name: 'talker', toolIds: [tool.id] })
  const first = await h.until(await fixtures.start(agentId, 'say one'), ['COMPLETED'], 'threadId')
  const { threadId } = first
  for (const word of ['two', 'three', 'four'])
    await h.until(await fixtures.start(agentId, `say ${word}`, { threadId }), ['COMPLETED'])
  const prompt = `say now I pay\ncall ${tool.name} {"amount":5}\nthen\nsay paid`
  const id = await firstPending(await fixtures.start(agentId, prompt, { threadId }))
  const said = ['three', 'say four', 'four', prompt]
  expect(texts(await askedOf(id))).toEqual(['two', 'say three', ...said])
  // What is said after the call is no part of it.
  await gate.decide(id, 'APPROVE')
  await h.until((await generationOf(id)) as string, ['COMPLETED'])
  await h.until(await fixtures.start(agentId, 'say later', { threadId }), ['COMPLETED'])
  expect(texts(await askedOf(id))).toEqual(['two', 'say three', ...said])
})

const generationOf = async (id: string) =>
  (await h.gql('query($id: ID!) { approval(id: $id) { generation { id } } }', { id })).data['approval']
    .generation.id

test('of a run with many messages the first of the user is kept', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const agentId = await makeAgent(h, { name: 'listener', toolIds: [tool.id] })
  const messages = Array.from({ length: 9 }, (_, i) => ({
    role: i % 2 === 0 ? 'USER' : 'ASSISTANT',
    content: i === 8 ? `call ${tool.name} {"amount":5}` : `message ${i}`,
  }))
  const started = await h.mutate('startGeneration', { agentId, messages }, 'generation { id }')
  const asked = await askedOf(await firstPending(started['generation'].id))
  expect(texts(asked)).toEqual([
    'message 0',
    'message 4',
    'message 5',
    'message 6',
    'message 7',
    messages[8]!.content,
  ])
})

test('a direct call was asked by nobody', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const call = await gate.call(tool.id)
  expect(await askedOf(call['approval'].id)).toBeNull()
})

test('a masked value is in no message, before an edit and after it, and in doubt the message is hidden', async () => {
  const tool = await gate.gated({ autoApprove: false, quorum: 2 })
  const call = (pin: string, more = '') => `call ${tool.name} ${JSON.stringify({ amount: 5, pin })}${more}`
  const shown = async (prompt: string) => {
    const id = await firstPending(await fixtures.start(await fixtures.agent({ toolIds: [tool.id] }), prompt))
    return { id, texts: texts(await askedOf(id)) }
  }
  const plain = await shown(call('4111 1111'))
  expect(plain.texts).toEqual([`call ${tool.name} {"amount":5,"pin":"[masked]"}`])
  await gate.decide(plain.id, 'APPROVE', { arguments: { amount: 5, pin: `${tool.name} {` } })
  expect(texts(await askedOf(plain.id))).toEqual(['call [masked]"amount":5,"pin":"[masked]"}'])
  expect((await shown(call('4111 1111', '\nthen\nsay 4111-1111'))).texts).toEqual(['[masked]'])
  expect((await shown(call('123'))).texts).toEqual(['[masked]'])
})

test('a long message is cut, between whole characters, and one with a masked value far behind is hidden', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const first = async (args: object, more: string) => {
    const prompt = `call ${tool.name} ${JSON.stringify(args)}\nthen\nsay ${more}`
    const id = await firstPending(await fixtures.start(await fixtures.agent({ toolIds: [tool.id] }), prompt))
    return (await askedOf(id)).messages[0]
  }
  const long = await first({ amount: 5 }, '😀'.repeat(50_000))
  expect(long.isCut).toBe(true)
  expect([3_999, 4_000]).toContain(long.text.length)
  expect(long.text.isWellFormed()).toBe(true)
  expect((await first({ amount: 5, pin: 'open sesame' }, 'x'.repeat(100_000))).text).toBe('[masked]')
})

test('only who may read the run gets it; the approval itself is read without it, and no denial is recorded', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const id = await firstPending(await gate.ask(tool))
  const approver = await newKey({ role: 'APPROVER' })
  const deciding = await newKey(allow(['approvals:*', 'generations:Get', 'tools:Get', 'agents:Get']))
  const unreading = await newKey(allow(['approvals:*', 'tools:Get']))
  const nameless = await newKey(allow(['approvals:*', 'generations:Get', 'tools:Get']))
  expect((await askedOf(id, approver)).messages).toHaveLength(1)
  expect((await askedOf(id, deciding)).agents[0].name).not.toBeNull()
  expect(await askedOf(id, unreading)).toBeNull()
  expect((await askedOf(id, nameless)).agents[0].name).toBeNull()
  const { data } = await h.gql('{ auditEntries(first: 20) { nodes { action outcome } } }')
  expect(data['auditEntries'].nodes).not.toContainEqual({ action: 'generations:Get', outcome: 'DENIED' })
})

test('messages of other runs in the thread are only for those who may read those runs', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const agentId = await makeAgent(h, { name: 'shared', toolIds: [tool.id] })
  const first = await h.until(await fixtures.start(agentId, 'say hidden'), ['COMPLETED'], 'id threadId')
  const prompt = `call ${tool.name} {"amount":5}`
  const id = await firstPending(await fixtures.start(agentId, prompt, { threadId: first['threadId'] }))
  const actions = ['approvals:*', 'generations:Get', 'agents:Get']
  const all = await newKey(allow(actions))
  const some = await newKey(
    allow(actions, { effect: 'Deny', action: ['generations:Get'], resource: [`generation/${first['id']}`] }),
  )
  expect(texts(await askedOf(id, all))).toEqual(['say hidden', 'hidden', prompt])
  expect(texts(await askedOf(id, some))).toEqual([prompt])
})

test('an approval of another project does not exist', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const id = await firstPending(await gate.ask(tool))
  const other = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const made = await h.mutate(
    'createApiKey',
    { name: 'theirs', role: 'ADMIN', projectId: other['project'].id },
    'secret',
  )
  const { data } = await h.gql(
    `query($id: ID!) { approval(id: $id) { ${askedFields} summary { text } } }`,
    { id },
    made['secret'],
  )
  expect(data['approval']).toBeNull()
})

test('a list of approvals reads what led to them in as many statements as one approval does', async () => {
  const tool = await gate.gated({ autoApprove: false })
  const list = () =>
    h.gql(
      `{ approvals(filter: { toolId: "${tool.id}" }, first: 50) { nodes { ${askedFields} summary { text } } } }`,
    )
  const count = async () =>
    (await statementsDuring(h.app.services.db, list)).filter((text) =>
      /with recursive chain|lateral/.test(text),
    ).length
  await gate.pending(await gate.ask(tool))
  expect(await count()).toBe(2)
  for (let i = 0; i < 5; i++) await gate.pending(await gate.ask(tool))
  expect(await count()).toBe(2)
  const { data } = await list()
  expect(data['approvals'].nodes.map(({ asked }: any) => asked.messages.length)).toEqual(Array(6).fill(1))
})
