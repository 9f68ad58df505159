/** Who may decide: quorums, the requester, roles, escalation, and what is recorded of every verdict. */
import { describe, expect, test } from 'vitest'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { adminKey, openHarness } from '../../support/harness.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const everything = { statement: [{ effect: 'Allow', action: ['*'], resource: ['*'] }] }
/** Two approvers, a developer, an admin of the project, and a key with a policy of its own. */
const keys: Record<'one' | 'two' | 'developer' | 'admin' | 'custom', { secret: string; id: string }> = {
  one: await gate.key({ role: 'APPROVER' }),
  two: await gate.key({ role: 'APPROVER' }),
  developer: await gate.key({ role: 'DEVELOPER' }),
  admin: await gate.key({ role: 'ADMIN' }),
  custom: await gate.key({ policy: everything }),
}

/** A stopped direct call behind this gate. Returns the ids of its approval and call. */
async function asked(policy: object, key?: string): Promise<{ id: string; callId: string; name: string }> {
  const tool = await gate.gated(policy)
  const call = await gate.call(tool.id, { amount: 1 }, {}, key)
  return { id: call['approval'].id, callId: call['id'], name: tool.name }
}

const toolOf = async (id: string): Promise<{ toolId: string }> => {
  const { data } = await h.gql('query($id: ID!) { approval(id: $id) { tool { id } } }', { id })
  return { toolId: data['approval'].tool.id }
}

const refusal = async (id: string, key: string, verdict: 'APPROVE' | 'REJECT' = 'APPROVE') => {
  const { data, errors } = await h.gql(
    'mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { __typename } }',
    { input: { approvalId: id, verdict } },
    key,
  )
  return errors?.[0] ?? data
}
const forbidden = { extensions: { code: 'FORBIDDEN', action: 'approvals:Decide' } }

describe('a quorum of two', () => {
  test('takes two different keys: the first vote is an event, the second runs the call', async () => {
    const { id, callId, name } = await asked({ quorum: 2 })
    const first = await gate.decide(id, 'APPROVE', { reason: 'ok' }, keys.one.secret)
    expect(first['approval']).toMatchObject({
      status: 'PENDING',
      decision: null,
      votes: [{ verdict: 'APPROVE', by: keys.one.id, reason: 'ok' }],
    })
    expect(await gate.decide(id, 'APPROVE', {}, keys.one.secret)).toMatchObject({ code: 'CONFLICT' })
    expect(gate.paid(name)).toEqual([])
    const second = await gate.decide(id, 'APPROVE', {}, keys.two.secret)
    expect(second['approval']).toMatchObject({ status: 'APPROVED', decision: { by: keys.two.id } })
    expect(second['approval'].votes).toHaveLength(2)
    await gate.untilCall(callId, ['SUCCEEDED'])
    const told = await gate.feed(
      ['APPROVAL_VOTED', 'APPROVAL_DECIDED'],
      `... on ApprovalVotedEvent { verdict decidedBy approval { id } } ... on ApprovalDecidedEvent { decidedBy approval { id } }`,
      (events) => events.some((event) => event['type'] === 'APPROVAL_DECIDED' && event['approval'].id === id),
    )
    expect(told.filter((event) => event['approval'].id === id)).toMatchObject([
      { type: 'APPROVAL_VOTED', verdict: 'APPROVE', decidedBy: keys.one.id },
      { type: 'APPROVAL_DECIDED', decidedBy: keys.two.id },
    ])
  })

  test('is settled by one rejection, also of a key that had approved', async () => {
    const { id, callId } = await asked({ quorum: 3 })
    await gate.decide(id, 'APPROVE', {}, keys.one.secret)
    const rejected = await gate.decide(id, 'REJECT', { reason: 'second thoughts' }, keys.one.secret)
    expect(rejected['approval']).toMatchObject({ status: 'REJECTED', decision: { verdict: 'REJECT' } })
    expect(await gate.toolCall(callId)).toMatchObject({ status: 'REJECTED' })
    expect(await gate.decide(id, 'APPROVE', {}, keys.two.secret)).toMatchObject({
      code: 'APPROVAL_ALREADY_DECIDED',
    })
  })

  test('of the same key at the same instant counts once', async () => {
    const { id } = await asked({ quorum: 2 })
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => gate.decide(id, 'APPROVE', {}, keys.one.secret)),
    )
    expect(answers.filter((answer) => answer['approval'])).toHaveLength(1)
    expect(await gate.approval(id)).toMatchObject({ status: 'PENDING', votes: [{ by: keys.one.id }] })
  })
})

test('the requester may neither approve nor reject when the gate excludes it; another key may', async () => {
  const { id, callId } = await asked({ excludeRequester: true }, keys.admin.secret)
  for (const verdict of ['APPROVE', 'REJECT'] as const)
    expect(await refusal(id, keys.admin.secret, verdict)).toMatchObject({
      message: expect.stringContaining('requested'),
      ...forbidden,
    })
  expect(await gate.approval(id)).toMatchObject({ status: 'PENDING', requestedBy: keys.admin.id })
  expect((await gate.decide(id, 'APPROVE', {}, keys.one.secret))['approval'].status).toBe('APPROVED')
  await gate.untilCall(callId, ['SUCCEEDED'])
})

test('a key without approvals:Decide is refused, whatever the gate says', async () => {
  const { id } = await asked({ approvers: ['DEVELOPER'] })
  expect(await refusal(id, keys.developer.secret)).toMatchObject(forbidden)
})

test('a policy may allow verdicts about one tool only', async () => {
  const [mine, other] = [await asked({}), await asked({})]
  const resource = [`tool/${(await toolOf(mine.id)).toolId}`]
  const { secret } = await gate.key({
    policy: {
      statement: [
        { effect: 'Allow', action: ['approvals:Decide'], resource },
        { effect: 'Allow', action: ['*:Get', 'generations:ReachOthers'], resource: ['*'] },
      ],
    },
  })
  expect(await refusal(other.id, secret)).toMatchObject(forbidden)
  expect((await gate.decide(mine.id, 'APPROVE', {}, secret))['approval'].status).toBe('APPROVED')
})

describe('roles', () => {
  test('only keys with the roles decide; a policy of its own is no role', async () => {
    const { id } = await asked({ approvers: ['APPROVER'] })
    for (const key of [keys.admin.secret, keys.custom.secret, adminKey])
      expect(await refusal(id, key)).toMatchObject({
        message: expect.stringContaining('approver'),
        ...forbidden,
      })
    expect((await gate.decide(id, 'APPROVE', {}, keys.two.secret))['approval'].status).toBe('APPROVED')
  })

  test('without roles every key with approvals:Decide may decide, also one with a policy of its own', async () => {
    const { id } = await asked({})
    expect((await gate.decide(id, 'APPROVE', {}, keys.custom.secret))['approval'].status).toBe('APPROVED')
  })

  test('of tool and agent are both needed', async () => {
    const tool = await gate.gated({ approvers: ['APPROVER', 'ADMIN'] })
    const [approval] = await gate.pending(
      await gate.ask(tool, { amount: 1 }, { gate: { approvers: ['ADMIN'] } }),
    )
    expect(await refusal(approval!['id'], keys.one.secret)).toMatchObject(forbidden)
    expect((await gate.decide(approval!['id'], 'APPROVE', {}, keys.admin.secret))['approval'].status).toBe(
      'APPROVED',
    )
  })

  test('a denial is written to the audit', async () => {
    const { id } = await asked({ approvers: ['APPROVER'] })
    await refusal(id, keys.admin.secret)
    const { toolId } = await toolOf(id)
    const { data } = await h.gql(
      '{ auditEntries(first: 20) { nodes { action resource outcome principalId } } }',
    )
    expect(data['auditEntries'].nodes).toContainEqual({
      action: 'approvals:Decide',
      resource: `tool/${toolId}`,
      outcome: 'DENIED',
      principalId: keys.admin.id,
    })
  })
})

test('without a verdict for a while: an event reports it, admins may decide from then on, and the deadline is unchanged', async () => {
  const { id } = await asked({ approvers: ['APPROVER'], escalateAfterSeconds: 100 })
  expect(await refusal(id, keys.admin.secret)).toMatchObject(forbidden)
  await gate.bringForward(id, 'escalation')
  const told = await gate.feed(
    ['APPROVAL_ESCALATED'],
    '... on ApprovalEscalatedEvent { approval { id status escalatedAt expiresAt } }',
    (events) => events.some((event) => event['approval'].id === id),
  )
  expect(told.at(-1)!['approval']).toMatchObject({ status: 'PENDING', escalatedAt: expect.any(String) })
  expect(await refusal(id, keys.developer.secret)).toMatchObject(forbidden)
  expect(await refusal(id, keys.custom.secret)).toMatchObject(forbidden)
  expect((await gate.decide(id, 'APPROVE', {}, keys.admin.secret))['approval'].status).toBe('APPROVED')

  const other = await asked({ approvers: ['APPROVER'], escalateAfterSeconds: 100 })
  await gate.bringForward(other.id, 'escalation')
  await gate.feed(['APPROVAL_ESCALATED'], '... on ApprovalEscalatedEvent { approval { id } }', (events) =>
    events.some((event) => event['approval'].id === other.id),
  )
  await gate.bringForward(other.id, 'expiry')
  expect(await gate.untilCall(other.callId, ['EXPIRED'])).toMatchObject({ errorCode: 'approval_expired' })
})

test('every verdict records who, when, from where and why, and is in the audit', async () => {
  const { id, callId } = await asked({})
  const before = Date.now()
  const said = { reason: 'seen the invoice', note: 'ask Ada next time' }
  const { approval } = await gate.decide(id, 'REJECT', said, keys.one.secret)
  const { at, byName, ...vote } = approval.decision
  expect(vote).toEqual({
    verdict: 'REJECT',
    by: keys.one.id,
    from: expect.stringContaining('127.0.0.1'),
    ...said,
  })
  expect(byName).toMatch(/^key \d+$/)
  expect(Math.abs(new Date(at).getTime() - before)).toBeLessThan(5000)
  const { data } = await h.gql(
    '{ auditEntries(first: 20) { nodes { action resource outcome principalId details } } }',
  )
  const entries = data['auditEntries'].nodes as Record<string, any>[]
  expect(entries.filter((entry) => entry['details']?.approvalId === id)).toEqual([
    {
      action: 'approvals:Decide',
      resource: `tool/${(await toolOf(id)).toolId}`,
      outcome: 'ALLOWED',
      principalId: keys.one.id,
      details: {
        approvalId: id,
        toolCallId: callId,
        verdict: 'REJECT',
        remoteAddress: expect.stringContaining('127.0.0.1'),
        via: 'KEY',
      },
    },
  ])
})
