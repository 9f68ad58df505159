/**
 * Client tools behind the gate: first the approval, then the client; and a gated stop tool, whose arguments are the
 * answer.
 */
import { expect, test } from 'vitest'
import { useGateFixtures } from '../../support/gate-fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()

const stopped = { autoApprove: false }
const submit = (generationId: string, toolCallId: string, output: unknown = 'answered') =>
  h.mutate(
    'submitToolOutputs',
    { generationId, outputs: [{ toolCallId, output }] },
    'generation { status } outcomes { status error { code message } }',
  )

test('a client call waits for its approval first, then for its client, and only then are its secrets shown', async () => {
  const tool = await gate.gatedClient(stopped)
  const id = await gate.ask(tool, { amount: 5, pin: '1234' })
  const waiting = await h.until(
    id,
    ['AWAITING_APPROVAL'],
    'requiredAction { toolCalls { id } approvals { id } } toolCalls { id status arguments deadlineAt }',
  )
  const { toolCalls, approvals } = waiting['requiredAction']
  expect([toolCalls, approvals.length]).toEqual([[], 1])
  const [call] = waiting['toolCalls']
  expect(call).toMatchObject({
    status: 'AWAITING_APPROVAL',
    arguments: { amount: 5, pin: '[masked]' },
    deadlineAt: null,
  })
  // The client may not run the call yet.
  const early = await submit(id, call.id)
  expect(early['outcomes']).toMatchObject([{ status: 'REFUSED', error: { code: 'CONFLICT' } }])
  expect((await gate.approval(approvals[0].id))['status']).toBe('PENDING')

  await gate.decide(approvals[0].id, 'APPROVE')
  const asked = await h.until(
    id,
    ['REQUIRES_ACTION'],
    'requiredAction { toolCalls { id name arguments deadlineAt } approvals { id } }',
  )
  expect(asked['requiredAction']).toMatchObject({
    toolCalls: [{ id: call.id, name: tool.name, arguments: { amount: 5, pin: '1234' } }],
    approvals: [],
  })
  const events = await h.collect(
    `subscription($id: ID!) { generationEvents(generationId: $id) { type
      ... on RequiresActionEvent { toolCalls { id name arguments } } } }`,
    { id },
    (all) => all.some((event) => event.type === 'REQUIRES_ACTION'),
  )
  // A client that runs the tool needs the call's id, its name and its arguments.
  expect(events.at(-1)).toEqual({
    type: 'REQUIRES_ACTION',
    toolCalls: [{ id: call.id, name: tool.name, arguments: { amount: 5, pin: '1234' } }],
  })
  expect((await submit(id, call.id))['outcomes']).toMatchObject([{ status: 'ACCEPTED' }])
  const end = await h.until(id, ['COMPLETED'], 'toolCalls { status arguments }')
  expect(end['toolCalls']).toEqual([{ status: 'SUCCEEDED', arguments: { amount: 5, pin: '[masked]' } }])
})

test('the time for the output is counted from the approval', async () => {
  const tool = await gate.gatedClient(stopped)
  const id = await gate.ask(tool, { amount: 1 }, { clientTimeoutMs: 60_000 })
  const [approval] = await gate.pending(id)
  const { approval: decided } = await gate.decide(approval!['id'], 'APPROVE')
  const asked = await h.until(id, ['REQUIRES_ACTION'], 'requiredAction { toolCalls { id deadlineAt } }')
  const [call] = asked['requiredAction'].toolCalls
  const waits = new Date(call.deadlineAt).getTime() - new Date(decided.settledAt).getTime()
  expect(Math.abs(waits - 60_000)).toBeLessThan(1000)
})

test('a client call without an output times out after the approval, too', async () => {
  const tool = await gate.gatedClient(stopped)
  const id = await gate.ask(tool, { amount: 1 }, { clientTimeoutMs: 1000 })
  const [approval] = await gate.pending(id)
  await gate.decide(approval!['id'], 'APPROVE')
  const end = await h.until(id, ['COMPLETED'], 'toolCalls { status errorCode }')
  expect(end['toolCalls']).toEqual([{ status: 'ERRORED', errorCode: 'client_timeout' }])
})

test('a rejected client call never reaches the client', async () => {
  const tool = await gate.gatedClient(stopped)
  const id = await gate.ask(tool)
  const [approval] = await gate.pending(id)
  await gate.decide(approval!['id'], 'REJECT', { reason: 'no' })
  const end = await h.until(
    id,
    ['COMPLETED'],
    'toolCalls { id status errorCode } events(first: 50) { nodes { type } }',
  )
  expect(end['toolCalls']).toMatchObject([{ status: 'REJECTED', errorCode: 'approval_rejected' }])
  expect(end['events'].nodes).not.toContainEqual({ type: 'REQUIRES_ACTION' })
  const late = submit(id, end['toolCalls'][0].id)
  expect((await late)['code']).toBe('GENERATION_TERMINAL')
})

test('an edited client call hands the new arguments to the client', async () => {
  const tool = await gate.gatedClient(stopped)
  const id = await gate.ask(tool, { amount: 500 })
  const [approval] = await gate.pending(id)
  await gate.decide(approval!['id'], 'APPROVE', { arguments: { amount: 50 } })
  const asked = await h.until(id, ['REQUIRES_ACTION'])
  expect(asked['requiredAction'].toolCalls).toMatchObject([{ arguments: { amount: 50 } }])
})

test('open client calls and open approvals are both listed, and the client comes first in the status', async () => {
  const tool = await gate.gated(stopped)
  const agentId = await fixtures.agent({ toolIds: [tool.id, fixtures.tools.ask] })
  const id = await fixtures.start(
    agentId,
    `call ${tool.name} {"amount": 1}\ncall ask {"word": "x"}\nthen\nsay done`,
  )
  const fields = 'requiredAction { toolCalls { id name } approvals { id toolName } }'
  const both = await h.until(id, ['REQUIRES_ACTION'], fields)
  expect(both['requiredAction']).toMatchObject({
    toolCalls: [{ name: 'ask' }],
    approvals: [{ toolName: tool.name }],
  })
  const listed = async (status: string) =>
    (await h.gql(`{ generations(filter: { statuses: [${status}] }, first: 100) { nodes { id } } }`)).data[
      'generations'
    ].nodes.some((node: { id: string }) => node.id === id)
  expect([await listed('REQUIRES_ACTION'), await listed('AWAITING_APPROVAL')]).toEqual([true, false])
  await fixtures.answer(id)
  const left = await h.until(id, ['AWAITING_APPROVAL'], fields)
  expect(left['requiredAction'].toolCalls).toEqual([])
  expect([await listed('REQUIRES_ACTION'), await listed('AWAITING_APPROVAL')]).toEqual([false, true])
  await gate.decide(left['requiredAction'].approvals[0].id, 'APPROVE')
  expect((await h.until(id, ['COMPLETED']))['requiredAction']).toBeNull()
})

test('a gated stop tool of the client: the approved arguments are the output, as the approver wrote them', async () => {
  const tool = await gate.gatedClient(stopped)
  const stop = { stopConditions: [{ hasToolCall: tool.name }] }
  const plain = await gate.ask(tool, { amount: 5 }, stop)
  await gate.decide((await gate.pending(plain))[0]!['id'], 'APPROVE')
  expect(await h.until(plain, ['COMPLETED'], 'toolCalls { status }')).toMatchObject({
    stopReason: 'STOP_CONDITION',
    output: { object: { amount: 5 } },
    toolCalls: [{ status: 'SKIPPED' }],
  })
  const edited = await gate.ask(tool, { amount: 5 }, stop)
  await gate.decide((await gate.pending(edited))[0]!['id'], 'APPROVE', { arguments: { amount: 6 } })
  expect(await h.until(edited, ['COMPLETED'])).toMatchObject({ output: { object: { amount: 6 } } })
})

test.each(['REJECT', 'silence'] as const)('a gated stop tool is no stop after %s', async (verdict) => {
  const tool = await gate.gatedClient(stopped)
  const id = await gate.ask(tool, { amount: 5 }, { stopConditions: [{ hasToolCall: tool.name }] })
  const [approval] = await gate.pending(id)
  if (verdict === 'REJECT') await gate.decide(approval!['id'], 'REJECT')
  else await gate.bringForward(approval!['id'], 'expiry')
  expect(await h.until(id, ['COMPLETED'])).toMatchObject({
    stopReason: 'END_TURN',
    output: { text: 'done', object: null },
    stepCount: 2,
  })
})
