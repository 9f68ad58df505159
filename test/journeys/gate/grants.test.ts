/** Grants: a verdict that lets some later calls pass, always with an end and a maximum number of uses. */
import { describe, expect, test } from 'vitest'
import { plainGrant, useGrantFixtures, type GatedTool } from '../../support/grant-fixtures.ts'

const { h, fixtures, gate, grants } = await useGrantFixtures()

describe('the scope', () => {
  test('EXACT covers the same arguments only, in any order of keys', async () => {
    const tool = await grants.newTool()
    await grants.granted(tool, { scope: 'EXACT' }, { amount: 5, to: 'a' })
    expect(await grants.passes(tool, { to: 'a', amount: 5 })).toBe(true)
    expect(await grants.passes(tool, { amount: 6, to: 'a' })).toBe(false)
    expect(await grants.passes(tool, { amount: 5 })).toBe(false)
  })

  test('SCHEMA covers what fits, presets merged in', async () => {
    const tool = await grants.newTool({ presetParameters: { to: 'home' } })
    const schema = {
      properties: { amount: { maximum: 10 }, to: { const: 'home' } },
      required: ['amount', 'to'],
    }
    const grant = await grants.granted(tool, { scope: 'SCHEMA', schema })
    expect(grant).toMatchObject({ scope: 'SCHEMA', schema })
    expect(await grants.passes(tool, { amount: 10 })).toBe(true)
    expect(await grants.passes(tool, { amount: 11 })).toBe(false)
  })

  test('TOOL covers every call of the tool, and of no other', async () => {
    const [tool, other] = [await grants.newTool(), await grants.newTool()]
    await grants.granted(tool, {})
    expect([await grants.passes(tool, { amount: 9000 }), await grants.passes(other)]).toEqual([true, false])
  })

  test('EXACT of an edited call covers the arguments that ran, not the original ones', async () => {
    const tool = await grants.newTool()
    const call = await gate.call(tool.id, { amount: 500 })
    const grant = { ...plainGrant, scope: 'EXACT' }
    await gate.decide(call['approval'].id, 'APPROVE', { arguments: { amount: 50 }, grant })
    expect([await grants.passes(tool, { amount: 50 }), await grants.passes(tool, { amount: 500 })]).toEqual([
      true,
      false,
    ])
  })
})

describe('the holder', () => {
  const run = async (tool: GatedTool, agentId: string, more: object = {}) => {
    const id = await fixtures.start(agentId, `call ${tool.name} {"amount": 1}\nthen\nsay done`, more)
    return h.until(
      id,
      ['COMPLETED', 'AWAITING_APPROVAL'],
      'threadId requiredAction { approvals { id } } toolCalls { status grant { id } approval { id } }',
    )
  }
  const approveWith = async (waiting: Record<string, any>, holder: string) => {
    const [{ id }] = waiting['requiredAction'].approvals
    await gate.decide(id, 'APPROVE', { grant: { ...plainGrant, holder } })
    return h.until(waiting['id'], ['COMPLETED'], 'threadId')
  }

  test('AGENT covers all runs of the agent, not those of another, and no direct call', async () => {
    const tool = await grants.newTool()
    const [one, two] = [
      await fixtures.agent({ toolIds: [tool.id] }),
      await fixtures.agent({ toolIds: [tool.id] }),
    ]
    await approveWith(await run(tool, one), 'AGENT')
    const [grant] = await grants.of(tool)
    expect(grant).toMatchObject({ agentId: one, threadId: null, requestedBy: null, toolName: tool.name })
    const passed = await run(tool, one)
    expect(passed).toMatchObject({
      status: 'COMPLETED',
      toolCalls: [{ status: 'SUCCEEDED', grant: { id: grant!['id'] }, approval: null }],
    })
    expect((await run(tool, two))['status']).toBe('AWAITING_APPROVAL')
    expect(await grants.passes(tool)).toBe(false)
  })

  test('THREAD covers later runs of the thread and nothing else', async () => {
    const tool = await grants.newTool()
    const agentId = await fixtures.agent({ toolIds: [tool.id] })
    const { threadId } = await approveWith(await run(tool, agentId), 'THREAD')
    expect((await grants.of(tool))[0]).toMatchObject({ threadId, agentId: null, requestedBy: null })
    expect((await run(tool, agentId, { threadId }))['status']).toBe('COMPLETED')
    expect((await run(tool, agentId))['status']).toBe('AWAITING_APPROVAL')
  })

  test('CALLER covers the key that asked, in direct calls and its runs, and no other key', async () => {
    const tool = await grants.newTool()
    const [mine, theirs] = [await gate.key({ role: 'DEVELOPER' }), await gate.key({ role: 'DEVELOPER' })]
    await grants.granted(tool, {}, { amount: 1 }, mine.secret)
    expect((await grants.of(tool))[0]).toMatchObject({
      requestedBy: mine.id,
      agentId: null,
      threadId: null,
    })
    expect(await grants.passes(tool, { amount: 2 }, mine.secret)).toBe(true)
    expect(await grants.passes(tool, { amount: 2 }, theirs.secret)).toBe(false)
    const agentId = await fixtures.agent({ toolIds: [tool.id] })
    const input = { agentId, prompt: `call ${tool.name} {"amount": 1}\nthen\nsay done` }
    const { generation } = await h.mutate('startGeneration', input, 'generation { id }', mine.secret)
    expect((await h.until(generation.id, ['COMPLETED', 'AWAITING_APPROVAL']))['status']).toBe('COMPLETED')
  })

  test.each(['AGENT', 'THREAD'])(
    '%s covers only runs of the requester whose call was approved',
    async (holder) => {
      const tool = await grants.newTool()
      const agentId = await fixtures.agent({ toolIds: [tool.id] })
      const { threadId } = await approveWith(await run(tool, agentId), holder)
      const other = await gate.key({ role: 'DEVELOPER' })
      const prompt = `call ${tool.name} {"amount": 1}\nthen\nsay done`
      const input = { agentId, prompt, threadId }
      const theirs = await h.mutate('startGeneration', input, 'generation { id }', other.secret)
      const ended = await h.until(theirs['generation'].id, ['COMPLETED', 'AWAITING_APPROVAL'])
      expect(ended['status']).toBe('AWAITING_APPROVAL')
      expect((await grants.of(tool))[0]).toMatchObject({ uses: 0 })
      await h.mutate('cancelGeneration', { generationId: theirs['generation'].id }, 'generation { id }')
      expect((await run(tool, agentId, { threadId }))['status']).toBe('COMPLETED')
    },
  )

  test.each(['AGENT', 'THREAD'])('%s is refused for a direct call, which stays pending', async (holder) => {
    const tool = await grants.newTool()
    expect(await grants.granted(tool, { holder })).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'grant', 'holder'] }],
    })
    expect(await grants.of(tool)).toEqual([])
  })
})

test('a grant lets client calls pass to their client, and a stop tool to the end', async () => {
  const tool = await gate.gatedClient({ autoApprove: false })
  const agentId = await fixtures.agent({ toolIds: [tool.id] })
  const prompt = `call ${tool.name} {"amount": 1}\nthen\nsay done`
  const first = await fixtures.start(agentId, prompt)
  await gate.decide((await gate.pending(first))[0]!['id'], 'APPROVE', {
    grant: { ...plainGrant, holder: 'AGENT' },
  })
  await fixtures.answer(first)
  const second = await fixtures.start(agentId, prompt)
  await fixtures.answer(second)
  expect(await h.until(second, ['COMPLETED'], 'toolCalls { status grant { uses } }')).toMatchObject({
    toolCalls: [{ status: 'SUCCEEDED', grant: { uses: 1 } }],
  })
  await h.mutate('updateAgent', { id: agentId, stopConditions: [{ hasToolCall: tool.name }] }, 'agent { id }')
  expect(await h.until(await fixtures.start(agentId, prompt), ['COMPLETED'])).toMatchObject({
    stopReason: 'STOP_CONDITION',
    output: { object: { amount: 1 } },
  })
})

test('a grant fulfils no more than its approval did', async () => {
  const tool = await grants.newTool()
  await grants.granted(tool, {})
  expect(await grants.passes(tool, { amount: 5000 })).toBe(true)
  const over1000 = { properties: { amount: { exclusiveMinimum: 1000 } }, required: ['amount'] }
  for (const strict of [{ quorum: 2 }, { approvers: ['ADMIN'] }, { excludeRequester: true }]) {
    const agentId = await fixtures.agent({ toolIds: [tool.id], gate: { when: over1000, ...strict } })
    const run = async (amount: number) =>
      h.until(await fixtures.start(agentId, `call ${tool.name} {"amount": ${amount}}\nthen\nsay done`), [
        'COMPLETED',
        'AWAITING_APPROVAL',
      ])
    expect([(await run(1000))['status'], (await run(1001))['status']]).toEqual([
      'COMPLETED',
      'AWAITING_APPROVAL',
    ])
  }
})

test('a grant of a stricter gate lets calls of a less strict one pass', async () => {
  const tool = await grants.newTool()
  const agentId = await fixtures.agent({
    toolIds: [tool.id],
    gate: { approvers: ['ADMIN', 'APPROVER'], quorum: 2 },
  })
  const prompt = `call ${tool.name} {"amount": 1}\nthen\nsay done`
  const [approval] = await gate.pending(await fixtures.start(agentId, prompt))
  const [one, two] = [await gate.key({ role: 'APPROVER' }), await gate.key({ role: 'ADMIN' })]
  await gate.decide(approval!['id'], 'APPROVE', {}, one.secret)
  await gate.decide(approval!['id'], 'APPROVE', { grant: plainGrant }, two.secret)
  expect(
    (await h.until(await fixtures.start(agentId, prompt), ['COMPLETED', 'AWAITING_APPROVAL']))['status'],
  ).toBe('COMPLETED')
  expect(await grants.passes(tool)).toBe(true)
})

test.each([
  ['SCHEMA without a schema', { scope: 'SCHEMA' }, 'schema'],
  ['EXACT with a schema', { scope: 'EXACT', schema: {} }, 'schema'],
  ['a schema that does not compile', { scope: 'SCHEMA', schema: { type: 'x' } }, 'schema.type'],
  ['a schema that forbids this very call', { scope: 'SCHEMA', schema: { required: ['bonus'] } }, 'schema'],
  ['no time', { expiresInSeconds: 0 }, 'expiresInSeconds'],
  ['more than thirty days', { expiresInSeconds: 2_592_001 }, 'expiresInSeconds'],
  ['no uses', { maxUses: 0 }, 'maxUses'],
  ['more than a thousand uses', { maxUses: 1001 }, 'maxUses'],
])('%s is refused with its path, and nothing is decided', async (_what, grant, where) => {
  const tool = await grants.newTool()
  const call = await gate.call(tool.id)
  const answer = await gate.decide(call['approval'].id, 'APPROVE', { grant: { ...plainGrant, ...grant } })
  expect(answer).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'grant', ...where.split('.')] }],
  })
  expect(await gate.approval(call['approval'].id)).toMatchObject({ status: 'PENDING', votes: [] })
  expect([await grants.of(tool), gate.paid(tool.name)]).toEqual([[], []])
})

test('a grant must be sent with the vote that reaches the quorum', async () => {
  const tool = await gate.gated({ quorum: 2 })
  const { approval } = await gate.call(tool.id)
  const early = await gate.decide(approval.id, 'APPROVE', { grant: plainGrant })
  expect(early).toMatchObject({ __typename: 'ValidationError', issues: [{ path: ['input', 'grant'] }] })
  expect(await gate.approval(approval.id)).toMatchObject({ votes: [] })
  const { secret } = await gate.key({ role: 'APPROVER' })
  await gate.decide(approval.id, 'APPROVE')
  await gate.decide(approval.id, 'APPROVE', { grant: plainGrant }, secret)
  expect(await grants.of(tool)).toHaveLength(1)
})
