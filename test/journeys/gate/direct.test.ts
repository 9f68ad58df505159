/** Direct calls at the gate: returned as pending, found again by their key, run once after the verdict. */
import { expect, test } from 'vitest'
import { useGateFixtures } from '../../support/gate-fixtures.ts'

const { h, gate } = await useGateFixtures()

const stopped = { autoApprove: false }

test('a stopped call is returned as pending and runs after the approval, without a connected caller', async () => {
  const tool = await gate.gated(stopped)
  const call = await gate.call(tool.id)
  expect(call).toMatchObject({
    status: 'AWAITING_APPROVAL',
    approval: { status: 'PENDING' },
    attempt: 0,
    attempts: [],
    isError: null,
  })
  expect(gate.paid(tool.name)).toEqual([])
  await gate.decide(call['approval'].id, 'APPROVE')
  const done = await gate.untilCall(call['id'], ['SUCCEEDED'])
  expect(done).toMatchObject({ attempt: 1, attempts: [{ outcome: 'SUCCEEDED', idempotencyKey: call['id'] }] })
  expect(gate.paid(tool.name)).toEqual([{ key: call['id'], body: { amount: 5 } }])
})

test('a rejected and an expired one are settled calls with isError, never sent', async () => {
  const tool = await gate.gated(stopped)
  const [rejected, expired] = [await gate.call(tool.id), await gate.call(tool.id)]
  await gate.decide(rejected['approval'].id, 'REJECT', { reason: 'no' })
  await gate.bringForward(expired['approval'].id, 'expiry')
  expect(await gate.toolCall(rejected['id'])).toMatchObject({
    status: 'REJECTED',
    isError: true,
    structuredContent: { error: { code: 'approval_rejected', reason: 'no' } },
  })
  expect(await gate.untilCall(expired['id'], ['EXPIRED'])).toMatchObject({
    isError: true,
    structuredContent: { error: { code: 'approval_expired' } },
  })
  expect(gate.paid(tool.name)).toEqual([])
})

test('a repeat with the same key joins the call, pending or settled, and requests no second approval', async () => {
  const tool = await gate.gated(stopped)
  const key = { idempotencyKey: 'order-7' }
  const first = await gate.call(tool.id, { amount: 7 }, key)
  const together = await Promise.all(Array.from({ length: 5 }, () => gate.call(tool.id, { amount: 7 }, key)))
  for (const call of together)
    expect(call).toMatchObject({
      id: first['id'],
      status: 'AWAITING_APPROVAL',
      approval: { id: first['approval'].id },
    })
  expect(await gate.call(tool.id, { amount: 8 }, key)).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  const { data } = await h.gql('query($id: ID) { approvals(filter: { toolId: $id }) { nodes { id } } }', {
    id: tool.id,
  })
  expect(data['approvals'].nodes).toHaveLength(1)
  await gate.decide(first['approval'].id, 'APPROVE')
  // Joins the call, running or settled, and returns its result.
  expect(await gate.call(tool.id, { amount: 7 }, key)).toMatchObject({ id: first['id'], status: 'SUCCEEDED' })
  expect(await gate.call(tool.id, { amount: 7 }, key)).toMatchObject({ id: first['id'], attempt: 1 })
  expect(gate.paid(tool.name)).toHaveLength(1)
})

test('a repeat of a rejected call returns the rejection, and requests no second approval', async () => {
  const tool = await gate.gated(stopped)
  const key = { idempotencyKey: 'order-8' }
  const first = await gate.call(tool.id, { amount: 7 }, key)
  await gate.decide(first['approval'].id, 'REJECT')
  expect(await gate.call(tool.id, { amount: 7 }, key)).toMatchObject({ id: first['id'], status: 'REJECTED' })
})

test('another caller with the same idempotency key gets a call of its own', async () => {
  const tool = await gate.gated(stopped)
  const { secret } = await gate.key({ role: 'DEVELOPER' })
  const first = await gate.call(tool.id, { amount: 7 }, { idempotencyKey: 'mine' })
  const second = await gate.call(tool.id, { amount: 7 }, { idempotencyKey: 'mine' }, secret)
  expect(second['id']).not.toBe(first['id'])
})

test('the caller follows its call and its approval, and may not decide about it', async () => {
  const tool = await gate.gated(stopped)
  const { secret } = await gate.key({ role: 'CALLER' })
  const call = await gate.call(tool.id, { amount: 7 }, {}, secret)
  const { data } = await h.gql(
    'query($id: ID!) { toolCall(id: $id) { status approval { status expiresAt } } }',
    { id: call['id'] },
    secret,
  )
  expect(data['toolCall']).toMatchObject({ status: 'AWAITING_APPROVAL', approval: { status: 'PENDING' } })
  await expect(gate.decide(call['approval'].id, 'APPROVE', {}, secret)).rejects.toThrow(/FORBIDDEN/)
})
