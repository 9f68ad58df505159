/** Edit, then approve: the call runs with the approver's arguments, and the model is informed. */
import { expect, test } from 'vitest'
import { callFields, useGateFixtures } from '../../support/gate-fixtures.ts'

const { h, gate } = await useGateFixtures()

const stopped = { autoApprove: false }

test("the approver's arguments run, and call and approval show the original arguments and the changes", async () => {
  const tool = await gate.gated(stopped)
  const id = await gate.ask(tool, { amount: 500, to: 'mallory' })
  const [approval] = await gate.pending(id)
  const edited = { amount: 50, to: 'mallory' }
  const decided = (await gate.decide(approval!['id'], 'APPROVE', { arguments: edited }))['approval']
  expect(decided).toMatchObject({
    status: 'APPROVED',
    arguments: edited,
    originalArguments: { amount: 500, to: 'mallory' },
  })
  expect(decided.digest).not.toBe(approval!['digest'])
  const end = await h.until(id, ['COMPLETED'], `toolCalls { ${callFields} }`)
  expect(end['toolCalls']).toMatchObject([
    { status: 'SUCCEEDED', arguments: edited, editedArguments: ['amount'], toolVersion: 1 },
  ])
  expect(gate.paid(tool.name).map((one) => one.body)).toEqual([edited])
})

test('arguments that were removed and added are named, too', async () => {
  const tool = await gate.gated(stopped)
  const call = await gate.call(tool.id, { amount: 1, to: 'a' })
  await gate.decide(call['approval'].id, 'APPROVE', { arguments: { amount: 1, pin: '1234' } })
  const done = await gate.untilCall(call['id'], ['SUCCEEDED'])
  expect(done['editedArguments'].toSorted()).toEqual(['pin', 'to'])
  expect(gate.paid(tool.name).map((one) => one.body)).toEqual([{ amount: 1, pin: '1234' }])
})

test('presets are merged again, and a preset key in an edit has no effect', async () => {
  const tool = await gate.gated(stopped, { presetParameters: { to: 'fixed' } })
  const call = await gate.call(tool.id, { amount: 9 })
  expect(call['arguments']).toEqual({ amount: 9 })
  const before = await gate.approval(call['approval'].id)
  expect(before['arguments']).toEqual({ amount: 9, to: 'fixed' })
  const arguments_ = { amount: 8, to: 'mallory' }
  const decided = await gate.decide(before['id'], 'APPROVE', { arguments: arguments_ })
  expect(decided['approval'].arguments).toEqual({ amount: 8, to: 'fixed' })
  const done = await gate.untilCall(call['id'], ['SUCCEEDED'])
  expect(done).toMatchObject({ arguments: { amount: 8 }, editedArguments: ['amount'] })
  expect(gate.paid(tool.name).map((one) => one.body)).toEqual([{ amount: 8, to: 'fixed' }])
})

test.each([
  ['of a wrong type', { amount: 'hunter2' }, ['input', 'arguments', 'amount']],
  ['that lacks what is required', { to: 'x' }, ['input', 'arguments', 'amount']],
  ['with an argument that does not exist', { amount: 1, bonus: 1 }, ['input', 'arguments', 'bonus']],
])('an edit %s is refused by path and leaves the approval pending', async (_what, edited, path) => {
  const tool = await gate.gated(stopped)
  const call = await gate.call(tool.id)
  const approvalId = call['approval'].id
  const before = await gate.approval(approvalId)
  const refused = await gate.decide(approvalId, 'APPROVE', { arguments: edited })
  expect(refused).toMatchObject({ __typename: 'ValidationError', issues: [{ path }] })
  expect(JSON.stringify(refused)).not.toContain('hunter2')
  expect(await gate.approval(approvalId)).toEqual(before)
  expect(gate.paid(tool.name)).toEqual([])
  expect((await gate.decide(approvalId, 'APPROVE'))['approval'].status).toBe('APPROVED')
})

test('arguments go with APPROVE only', async () => {
  const { approval } = await gate.call((await gate.gated(stopped)).id)
  expect(await gate.decide(approval.id, 'REJECT', { arguments: { amount: 1 } })).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'arguments'] }],
  })
  expect(await gate.approval(approval.id)).toMatchObject({ status: 'PENDING', votes: [] })
})

test('a verdict on other arguments is refused by the digest', async () => {
  const tool = await gate.gated({ quorum: 2 })
  const { approval } = await gate.call(tool.id, { amount: 100 })
  const { digest: read } = await gate.approval(approval.id)
  const second = await gate.key({ role: 'APPROVER' })
  const edited = await gate.decide(approval.id, 'APPROVE', {
    arguments: { amount: 10_000 },
    expectedDigest: read,
  })
  expect(edited['approval']).toMatchObject({ status: 'PENDING', arguments: { amount: 10_000 } })
  const late = await gate.decide(approval.id, 'APPROVE', { expectedDigest: read }, second.secret)
  expect(late).toMatchObject({ __typename: 'ConflictError', code: 'CONFLICT' })
  expect(gate.paid(tool.name)).toEqual([])
  const now = edited['approval'].digest
  const agreed = await gate.decide(approval.id, 'APPROVE', { expectedDigest: now }, second.secret)
  expect(agreed['approval'].status).toBe('APPROVED')
})

test('an edit discards earlier votes, also one that restores the original arguments', async () => {
  const tool = await gate.gated({ quorum: 2 })
  const asked = await gate.call(tool.id, { amount: 100 })
  const id = asked['approval'].id
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => gate.key({ role: 'APPROVER' })))
  const votes = (shown: Record<string, any>) => shown['approval'].votes.map((vote: { by: string }) => vote.by)
  await gate.decide(id, 'APPROVE', {}, first!.secret)
  const edited = await gate.decide(id, 'APPROVE', { arguments: { amount: 1 } }, second!.secret)
  expect([edited['approval'].status, votes(edited)]).toEqual(['PENDING', [second!.id]])
  const back = await gate.decide(id, 'APPROVE', { arguments: { amount: 100 } }, first!.secret)
  expect([back['approval'].status, votes(back)]).toEqual(['PENDING', [first!.id]])
  expect(back['approval'].arguments).toEqual({ amount: 100 })
  // Sending the current arguments is not an edit.
  const same = await gate.decide(id, 'APPROVE', { arguments: { amount: 100 } }, third!.secret)
  expect([same['approval'].status, votes(same)]).toEqual(['APPROVED', [first!.id, third!.id]])
  const done = await gate.untilCall(asked['id'], ['SUCCEEDED'])
  expect(done['editedArguments']).toEqual([])
  expect(gate.paid(tool.name).map((one) => one.body)).toEqual([{ amount: 100 }])
})

test('an editor cannot agree alone to a call for which the gates require more', async () => {
  const tool = await gate.gated({ mode: 'ALWAYS' })
  const over1000 = { properties: { amount: { exclusiveMinimum: 1000 } }, required: ['amount'] }
  const strict = { when: over1000, quorum: 2, approvers: ['ADMIN'] }
  const id = await gate.ask(tool, { amount: 500 }, { gate: strict })
  const [approval] = await gate.pending(id)
  expect(approval!['requirement']).toMatchObject({ quorum: 1, approvers: [] })
  const edited = { arguments: { amount: 5000 } }
  const approver = await gate.key({ role: 'APPROVER' })
  await expect(gate.decide(approval!['id'], 'APPROVE', edited, approver.secret)).rejects.toThrow(/FORBIDDEN/)
  expect(await gate.approval(approval!['id'])).toMatchObject({ votes: [], arguments: { amount: 500 } })
  const [one, two] = [await gate.key({ role: 'ADMIN' }), await gate.key({ role: 'ADMIN' })]
  const first = await gate.decide(approval!['id'], 'APPROVE', edited, one.secret)
  expect(first['approval']).toMatchObject({
    status: 'PENDING',
    requirement: { quorum: 2, approvers: [['ADMIN']] },
    arguments: { amount: 5000 },
  })
  await expect(gate.decide(approval!['id'], 'APPROVE', {}, approver.secret)).rejects.toThrow(/FORBIDDEN/)
  expect(gate.paid(tool.name)).toEqual([])
  const { digest: expectedDigest } = first['approval']
  await gate.decide(approval!['id'], 'APPROVE', { expectedDigest }, two.secret)
  await h.until(id, ['COMPLETED'])
  expect(gate.paid(tool.name).map((payment) => payment.body)).toEqual([{ amount: 5000 }])
})

test('a preset key in an edit is audited, also when nothing else was changed', async () => {
  const tool = await gate.gated(stopped, { presetParameters: { to: 'fixed' } })
  const call = await gate.call(tool.id, { amount: 9 })
  await gate.decide(call['approval'].id, 'APPROVE', { arguments: { amount: 9, to: 'mallory' } })
  const { data } = await h.gql('{ auditEntries(first: 5) { nodes { action details } } }')
  expect(data['auditEntries'].nodes).toContainEqual({
    action: 'approvals:Decide',
    details: expect.objectContaining({ approvalId: call['approval'].id, droppedPresetKeys: ['to'] }),
  })
  expect((await gate.untilCall(call['id'], ['SUCCEEDED']))['editedArguments']).toEqual([])
})
