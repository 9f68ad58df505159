/** A verdict counts for the arguments that its author read, with the rights its author has when it is written. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { gateFixtures, type GateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { holdRow } from '../../support/held-row.ts'
import { makeFixtures, type Fixtures } from '../../support/fixtures.ts'

let h: Harness
let fixtures: Fixtures
let gate: GateFixtures
let database: { url: string; drop(): Promise<void> }
let keys: Record<'admin' | 'approver' | 'other', { secret: string; id: string }>

beforeAll(async () => {
  if (!hasPostgres) return
  database = await postgresDatabase()
  h = await openHarness({ databaseUrl: database.url })
  fixtures = await makeFixtures(h)
  gate = gateFixtures(h, fixtures)
  keys = {
    admin: await gate.key({ role: 'ADMIN' }),
    approver: await gate.key({ role: 'APPROVER' }),
    other: await gate.key({ role: 'APPROVER' }),
  }
})
afterAll(async () => {
  await fixtures?.close()
  await h?.stop()
  await database?.drop()
})

interface Attempt {
  data: Record<string, any> | null
  errors?: { extensions?: Record<string, any> }[]
}

const decide = (input: object, key: string): Promise<Attempt> =>
  h.gql(
    `mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { __typename
      ... on Error { code message } ... on ApprovalPayload { approval { status } } } }`,
    { input },
    key,
  )

/** Runs these requests one after the other at the lock of the call: each has passed the checks before the lock. */
async function queued(callId: string, steps: (() => Promise<Attempt>)[], meanwhile?: () => Promise<unknown>) {
  const held = await holdRow(database.url, 'tool_calls', callId)
  const under: Promise<Attempt>[] = []
  for (const step of steps) {
    under.push(step())
    await held.waiting(under.length)
  }
  await meanwhile?.()
  await held.release()
  return Promise.all(under)
}

async function asked(policy: object) {
  const tool = await gate.gated(policy)
  const call = await gate.call(tool.id, { amount: 10 })
  return { tool, callId: call['id'] as string, approvalId: call['approval'].id as string }
}

const answerOf = ({ data, errors }: Attempt) =>
  data?.['decideApproval']?.code ?? errors?.[0]?.extensions?.['code'] ?? data?.['decideApproval']?.__typename

describe.skipIf(!hasPostgres)('an admin edits 10 into 1,000,000 while an approver', () => {
  const edit = (approvalId: string) => () =>
    decide({ approvalId, verdict: 'APPROVE', arguments: { amount: 1_000_000 } }, keys.admin.secret)

  test('agrees to 10: the vote does not count for 1,000,000, and the error says to read again', async () => {
    const { tool, callId, approvalId } = await asked({ quorum: 2 })
    const [edited, agreed] = await queued(callId, [
      edit(approvalId),
      () => decide({ approvalId, verdict: 'APPROVE' }, keys.approver.secret),
    ])
    expect(answerOf(edited!)).toBe('ApprovalPayload')
    expect(agreed!.data!['decideApproval']).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('Read the approval again'),
    })
    const { votes, status } = await gate.approval(approvalId)
    expect({ status, by: votes.map((vote: { by: string }) => vote.by) }).toEqual({
      status: 'PENDING',
      by: [keys.admin.id],
    })
    expect(gate.paid(tool.name)).toEqual([])
  })

  test('agrees in a batch: nothing of the batch counts', async () => {
    const first = await asked({ quorum: 2 })
    const second = await asked({ quorum: 2 })
    const decisions = [second, first].map(({ approvalId }) => ({ approvalId, verdict: 'APPROVE' }))
    const [, batch] = await queued(first.callId, [
      edit(first.approvalId),
      () =>
        h.gql(
          `mutation($input: DecideApprovalsInput!) { decideApprovals(input: $input) { __typename ... on Error { code } } }`,
          { input: { decisions, atomic: true } },
          keys.approver.secret,
        ),
    ])
    expect(batch!.data!['decideApprovals']).toMatchObject({ code: 'CONFLICT' })
    expect((await gate.approval(second.approvalId))['votes']).toEqual([])
  })

  test('edits it too: the later edit is refused, because the arguments have changed', async () => {
    const { callId, approvalId } = await asked({ quorum: 2 })
    const [, second] = await queued(callId, [
      edit(approvalId),
      () => decide({ approvalId, verdict: 'APPROVE', arguments: { amount: 11 } }, keys.approver.secret),
    ])
    expect(answerOf(second!)).toBe('CONFLICT')
  })

  test('rejects it: a no to 10 is a no to 1,000,000', async () => {
    const { tool, callId, approvalId } = await asked({ quorum: 2 })
    const [, rejected] = await queued(callId, [
      edit(approvalId),
      () => decide({ approvalId, verdict: 'REJECT' }, keys.approver.secret),
    ])
    expect(rejected!.data!['decideApproval']).toMatchObject({ approval: { status: 'REJECTED' } })
    expect(gate.paid(tool.name)).toEqual([])
  })

  test('may decide about 10 only: then not even a REJECT counts', async () => {
    const policy = { quorum: 2 }
    const tool = await gate.gated(policy)
    const strict = {
      mode: 'WHEN',
      when: { properties: { amount: { minimum: 1000 } } },
      approvers: ['ADMIN'],
    }
    const agentId = await fixtures.agent({ toolIds: [tool.id], gate: strict })
    const id = await fixtures.start(agentId, `call ${tool.name} {"amount": 10}\nthen\nsay done`)
    const [approval] = await gate.pending(id)
    const held = await holdRow(database.url, 'generations', id)
    const edited = edit(approval!['id'])()
    await held.waiting(1)
    const rejected = decide({ approvalId: approval!['id'], verdict: 'REJECT' }, keys.approver.secret)
    await held.waiting(2)
    await held.release()
    expect(answerOf(await edited)).toBe('ApprovalPayload')
    expect(answerOf(await rejected)).toBe('FORBIDDEN')
    expect(await gate.approval(approval!['id'])).toMatchObject({ status: 'PENDING' })
    const { data } = await h.gql(
      '{ auditEntries(first: 5) { nodes { action principalId outcome resource } } }',
    )
    expect(data['auditEntries'].nodes).toContainEqual({
      action: 'approvals:Decide',
      principalId: keys.approver.id,
      outcome: 'DENIED',
      resource: `tool/${tool.id}`,
    })
  })
})

test.skipIf(!hasPostgres)('a key that is revoked before its verdict is written gives none', async () => {
  const { tool, callId, approvalId } = await asked({})
  const [refused] = await queued(
    callId,
    [() => decide({ approvalId, verdict: 'APPROVE' }, keys.other.secret)],
    () => h.mutate('revokeApiKey', { id: keys.other.id }, 'apiKey { id }'),
  )
  expect(answerOf(refused!)).toBe('UNAUTHENTICATED')
  expect(await gate.approval(approvalId)).toMatchObject({ status: 'PENDING', votes: [] })
  expect(gate.paid(tool.name)).toEqual([])
})

test.skipIf(!hasPostgres)('a key whose time ends before its verdict is written gives none', async () => {
  const { callId, approvalId } = await asked({})
  const soon = await gate.key({ role: 'APPROVER', expiresAt: new Date(Date.now() + 60_000).toISOString() })
  const [refused] = await queued(
    callId,
    [() => decide({ approvalId, verdict: 'APPROVE' }, soon.secret)],
    () => h.app.services.db.execute(`update api_keys set expires_at = now() where id = '${soon.id}'`),
  )
  expect(answerOf(refused!)).toBe('UNAUTHENTICATED')
  expect(await gate.approval(approvalId)).toMatchObject({ status: 'PENDING' })
})
