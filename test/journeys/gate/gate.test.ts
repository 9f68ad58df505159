/**
 * The gate: a call stops, a person decides, and it runs in place, once; over GraphQL, as reviewers and agents see it.
 */
import { expect, test } from 'vitest'
import { callFields, useGateFixtures } from '../../support/gate-fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()

const stopped = { autoApprove: false }

test('an approved call runs in place, once, and its generation continues', async () => {
  const tool = await gate.gated(stopped)
  const id = await gate.ask(tool)
  const [approval] = await gate.pending(id)
  expect(approval).toMatchObject({
    status: 'PENDING',
    toolName: tool.name,
    arguments: { amount: 5 },
    decision: null,
    votes: [],
    toolCall: { status: 'AWAITING_APPROVAL', attempts: [] },
  })
  expect(gate.paid(tool.name)).toEqual([])
  const decided = await gate.decide(approval!['id'], 'APPROVE', { reason: 'fine' })
  expect(decided['approval']).toMatchObject({
    status: 'APPROVED',
    decision: { verdict: 'APPROVE', reason: 'fine' },
  })
  const end = await h.until(id, ['COMPLETED'], `toolCalls { ${callFields} }`)
  expect(end['output'].text).toBe('done')
  const callId = end['toolCalls'][0].id
  expect(end['toolCalls']).toMatchObject([
    { status: 'SUCCEEDED', attempts: [{ attempt: 1, outcome: 'SUCCEEDED', idempotencyKey: callId }] },
  ])
  expect(gate.paid(tool.name)).toEqual([{ key: callId, body: { amount: 5 } }])
  // The approval links to the execution.
  expect((await gate.approval(approval!['id']))['toolCall']).toMatchObject({
    id: callId,
    status: 'SUCCEEDED',
    attempts: [{ outcome: 'SUCCEEDED' }],
  })
})

test('a rejected call reaches the model as an error with the reason, its sibling is untouched, and the model continues', async () => {
  const tool = await gate.gated({ mode: 'ALWAYS' })
  const agent = await fixtures.agent({ toolIds: [tool.id, fixtures.tools.look] })
  const id = await fixtures.start(
    agent,
    `call ${tool.name} {"amount": 5}\ncall look {"word": "x"}\nthen\nsay went on`,
  )
  const [approval] = await gate.pending(id)
  await gate.decide(approval!['id'], 'REJECT', { reason: 'too much', note: 'for us only' })
  const end = await h.until(id, ['COMPLETED'], `toolCalls { ${callFields} }`)
  expect(end['output'].text).toBe('went on')
  expect(end['toolCalls']).toMatchObject([
    { status: 'REJECTED', isError: true, errorCode: 'approval_rejected', attempts: [] },
    { status: 'SUCCEEDED', isError: false },
  ])
  const { structuredContent, content } = end['toolCalls'][0]
  expect(structuredContent.error).toMatchObject({ code: 'approval_rejected', reason: 'too much' })
  expect(JSON.stringify(content)).not.toContain('for us only')
  expect(gate.paid(tool.name)).toEqual([])
})

test('a call without a verdict is rejected as expired, the model is informed, and a late verdict is refused', async () => {
  const tool = await gate.gated(stopped)
  const id = await gate.ask(tool)
  const [approval] = await gate.pending(id)
  expect(approval!['requirement'].timeoutSeconds).toBe(300)
  const until = new Date(approval!['expiresAt']).getTime() - new Date(approval!['createdAt']).getTime()
  expect(until).toBe(300_000)
  await gate.bringForward(approval!['id'], 'expiry')
  const end = await h.until(
    id,
    ['COMPLETED'],
    `toolCalls { ${callFields} } events(first: 50) { nodes { type } }`,
  )
  expect(end).toMatchObject({
    output: { text: 'done' },
    toolCalls: [{ status: 'EXPIRED', isError: true, errorCode: 'approval_expired', attempts: [] }],
  })
  expect(end['toolCalls'][0].structuredContent.error.code).toBe('approval_expired')
  const types = end['events'].nodes.map((event: { type: string }) => event.type)
  expect(types.filter((type: string) => type === 'APPROVAL_EXPIRED')).toHaveLength(1)
  const late = await gate.decide(approval!['id'], 'APPROVE')
  expect(late).toMatchObject({ __typename: 'ApprovalExpiredError', code: 'APPROVAL_EXPIRED' })
  expect(await gate.approval(approval!['id'])).toMatchObject({ status: 'EXPIRED', decision: null, votes: [] })
  expect(gate.paid(tool.name)).toEqual([])
})

test('a verdict after the deadline is refused although no process has expired the approval yet', async () => {
  const tool = await gate.gated(stopped)
  const [approval] = await gate.pending(await gate.ask(tool))
  await gate.bringForward(approval!['id'], 'expiry')
  expect(await gate.decide(approval!['id'], 'APPROVE')).toMatchObject({ code: 'APPROVAL_EXPIRED' })
  expect(gate.paid(tool.name)).toEqual([])
})

test('the second verdict gets an error that names the first one, with the current approval', async () => {
  const tool = await gate.gated(stopped)
  const [approval] = await gate.pending(await gate.ask(tool))
  await gate.decide(approval!['id'], 'REJECT', { reason: 'first' })
  const { data } = await h.gql(
    `mutation($input: DecideApprovalInput!) { decideApproval(input: $input) {
      ... on ApprovalAlreadyDecidedError { code message approval { id status decision { reason } } } } }`,
    { input: { approvalId: approval!['id'], verdict: 'APPROVE' } },
  )
  expect(data['decideApproval']).toEqual({
    code: 'APPROVAL_ALREADY_DECIDED',
    message: expect.stringContaining('REJECT'),
    approval: { id: approval!['id'], status: 'REJECTED', decision: { reason: 'first' } },
  })
})

test('several approvals of one step are decided one by one, and the model waits for all of them', async () => {
  const [one, two, three] = [await gate.gated(stopped), await gate.gated(stopped), await gate.gated(stopped)]
  const agent = await fixtures.agent({ toolIds: [one.id, two.id, three.id] })
  const calls = [one, two, three].map(({ name }, i) => `call ${name} {"amount": ${i}}`).join('\n')
  const id = await fixtures.start(agent, `${calls}\nthen\nsay done`)
  const approvals = await gate.pending(id)
  expect(approvals.map((approval) => approval['toolName']).toSorted()).toEqual([
    one.name,
    two.name,
    three.name,
  ])
  const of = (name: string) => approvals.find((approval) => approval['toolName'] === name)!['id']
  await gate.decide(of(two.name), 'APPROVE')
  const ran = await gate.feed(['TOOL_CALL_SETTLED'], '... on ToolCallSettledEvent { name }', (events) =>
    events.some((event) => event['name'] === two.name),
  )
  expect(ran.map((event) => event['name'])).not.toContain(one.name)
  const still = await h.until(id, ['AWAITING_APPROVAL'], 'requiredAction { approvals { toolName } }')
  expect(still).toMatchObject({ stepCount: 1 })
  expect(still['requiredAction'].approvals).toHaveLength(2)
  await gate.decide(of(one.name), 'REJECT')
  await gate.bringForward(of(three.name), 'expiry')
  const end = await h.until(id, ['COMPLETED'], 'toolCalls { name status }')
  expect(end['toolCalls']).toEqual([
    { name: one.name, status: 'REJECTED' },
    { name: two.name, status: 'SUCCEEDED' },
    { name: three.name, status: 'EXPIRED' },
  ])
  expect(end['stepCount']).toBe(2)
})
