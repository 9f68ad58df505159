/** Several verdicts in one request: all or none, in their order, each fault with its index. */
import { expect, test } from 'vitest'
import { useGateFixtures } from '../../support/gate-fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()

/** A stopped direct call behind this gate. Returns the ids of its approval and call. */
async function asked(policy: object): Promise<{ id: string; callId: string; name: string }> {
  const tool = await gate.gated(policy)
  const call = await gate.call(tool.id, { amount: 1 })
  return { id: call['approval'].id, callId: call['id'], name: tool.name }
}

const decideAll = (decisions: object[], key?: string) =>
  h.mutate(
    'decideApprovals',
    { decisions },
    'outcomes { approval { id status decision { reason } } error { code } }',
    key,
  )

test('a batch is decided together, in its order', async () => {
  const [a, b] = [await asked({}), await asked({})]
  const answer = await decideAll([
    { approvalId: b.id, verdict: 'REJECT', reason: 'no' },
    { approvalId: a.id, verdict: 'APPROVE' },
  ])
  expect(answer['outcomes']).toEqual([
    { approval: { id: b.id, status: 'REJECTED', decision: { reason: 'no' } }, error: null },
    { approval: { id: a.id, status: 'APPROVED', decision: { reason: null } }, error: null },
  ])
  await gate.untilCall(a.callId, ['SUCCEEDED'])
  expect(await gate.toolCall(b.callId)).toMatchObject({ status: 'REJECTED' })
})

test('one that was decided refuses all others', async () => {
  const [good, bad] = [await asked({}), await asked({})]
  await gate.decide(bad.id, 'REJECT')
  const answer = await decideAll([
    { approvalId: good.id, verdict: 'APPROVE' },
    { approvalId: bad.id, verdict: 'APPROVE' },
  ])
  expect(answer).toMatchObject({ __typename: 'ApprovalAlreadyDecidedError' })
  expect(await gate.approval(good.id)).toMatchObject({ status: 'PENDING', votes: [] })
  expect(gate.paid(good.name)).toEqual([])
})

test('a faulty one is named by its index, and refuses all others', async () => {
  const [good, bad] = [await asked({}), await asked({ quorum: 2 })]
  const grant = { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 60, maxUses: 1 }
  for (const [fault, path] of [
    [{ approvalId: bad.id, verdict: 'APPROVE', arguments: { amount: 'x' } }, ['1', 'arguments', 'amount']],
    [{ approvalId: bad.id, verdict: 'APPROVE', reason: 'x'.repeat(2001) }, ['1', 'reason']],
    [{ approvalId: bad.id, verdict: 'APPROVE', note: 'x'.repeat(2001) }, ['1', 'note']],
    [{ approvalId: bad.id, verdict: 'REJECT', grant }, ['1', 'grant', 'maxUses']],
    [{ approvalId: bad.id, verdict: 'APPROVE', grant }, ['1', 'grant']],
    [{ approvalId: good.id, verdict: 'REJECT' }, ['1', 'approvalId']],
  ] as const) {
    const answer = await decideAll([{ approvalId: good.id, verdict: 'APPROVE' }, fault])
    expect(answer).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'decisions', ...path] }],
    })
  }
  const missing = 'apr_000000000000000000000000'
  expect(
    await decideAll([
      { approvalId: good.id, verdict: 'APPROVE' },
      { approvalId: missing, verdict: 'APPROVE' },
    ]),
  ).toMatchObject({ __typename: 'NotFoundError' })
  expect(await gate.approval(good.id)).toMatchObject({ status: 'PENDING', votes: [] })
  expect(await gate.approval(bad.id)).toMatchObject({ status: 'PENDING', votes: [] })
})

test('a batch has 1 to 50 entries', async () => {
  const { id } = await asked({})
  for (const count of [0, 51])
    expect(
      await decideAll(Array.from({ length: count }, () => ({ approvalId: id, verdict: 'APPROVE' }))),
    ).toMatchObject({ __typename: 'ValidationError', issues: [{ path: ['input', 'decisions'] }] })
  expect(await gate.approval(id)).toMatchObject({ status: 'PENDING' })
})

test('a batch of many that belong to one generation is decided once each', async () => {
  const tool = await gate.gated({})
  const calls = Array.from({ length: 10 }, (_, i) => `call ${tool.name} {"amount": ${i}}`).join('\n')
  const id = await fixtures.start(await fixtures.agent({ toolIds: [tool.id] }), `${calls}\nthen\nsay done`)
  const approvals = await gate.pending(id)
  expect(approvals).toHaveLength(10)
  await decideAll(approvals.map((one) => ({ approvalId: one['id'], verdict: 'APPROVE' })))
  await h.until(id, ['COMPLETED'])
  expect(
    gate
      .paid(tool.name)
      .map((one) => one.body['amount'])
      .toSorted(),
  ).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})
