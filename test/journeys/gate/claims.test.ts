/** Claims of approvals ("I am on it") and longer time for them: what they show, whom they bind, and when they end. */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness } from '../../support/harness.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const keys: Record<'one' | 'two' | 'caller', { secret: string; id: string }> = {
  one: await gate.key({ name: 'Ann', role: 'APPROVER' }),
  two: await gate.key({ name: 'Bob', role: 'APPROVER' }),
  caller: await gate.key({ role: 'CALLER' }),
}

const shown = 'approval { id status expiresAt extendableUntil claim { by byName at until } }'
const claim = (approvalId: string, key?: string) => h.mutate('claimApproval', { approvalId }, shown, key)
const releaseIt = (approvalId: string, key?: string) =>
  h.mutate('releaseApproval', { approvalId }, shown, key)
const extend = (approvalId: string, until: string, key = keys.one.secret) =>
  h.mutate('extendApproval', { approvalId, until }, shown, key)
const claimOf = async (id: string) =>
  (await h.gql('query($id: ID!) { approval(id: $id) { claim { by } } }', { id })).data['approval'].claim

/** A stopped direct call behind this gate. */
async function asked(policy: object = {}): Promise<{ id: string; callId: string; name: string }> {
  const tool = await gate.gated({ mode: 'ALWAYS', ...policy })
  const call = await gate.call(tool.id, { amount: 1 })
  return { id: call['approval'].id, callId: call['id'], name: tool.name }
}

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()

/** The newest audit entry of the project. */
const audited = async () =>
  (await h.gql('{ auditEntries(first: 1) { nodes { action principalId outcome details } } }')).data[
    'auditEntries'
  ].nodes[0]

/** The error of a mutation that refuses at the top level. */
async function refusal(name: string, input: object, key: string) {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`
  const { errors } = await h.gql(
    `mutation($input: ${type}!) { ${name}(input: $input) { __typename } }`,
    { input },
    key,
  )
  return errors?.[0]?.extensions?.['code']
}

describe('a claim', () => {
  test('says who is on it and for how long, in the approval, the feed and the audit', async () => {
    const { id, callId, name } = await asked()
    const { approval } = await claim(id, keys.one.secret)
    expect(approval.claim).toMatchObject({ by: keys.one.id, byName: 'Ann' })
    const { at, until } = approval.claim
    expect(Date.parse(until) - Date.parse(at)).toBe(600_000)
    expect(await audited()).toMatchObject({
      action: 'approvals:Decide',
      principalId: keys.one.id,
      details: { approvalId: id, toolCallId: callId, claimed: true },
    })
    const told = await gate.feed(
      ['APPROVAL_CLAIMED'],
      '... on ApprovalClaimEvent { name claimedBy approval { id claim { byName } } toolCall { id } }',
      (events) => events.some((event) => event['approval'].id === id),
    )
    expect(told.at(-1)).toMatchObject({
      name,
      claimedBy: keys.one.id,
      approval: { claim: { byName: 'Ann' } },
      toolCall: { id: callId },
    })
  })

  test('is refused to a second person by the name of the first, who may renew it and give it up', async () => {
    const { id } = await asked()
    const first = await claim(id, keys.one.secret)
    expect(await claim(id, keys.two.secret)).toMatchObject({
      __typename: 'ConflictError',
      message: expect.stringContaining('Ann'),
    })
    const again = await claim(id, keys.one.secret)
    expect(Date.parse(again['approval'].claim.at)).toBeGreaterThanOrEqual(
      Date.parse(first['approval'].claim.at),
    )
    expect(await releaseIt(id, keys.two.secret)).toMatchObject({ __typename: 'ConflictError' })
    expect((await releaseIt(id, keys.one.secret))['approval'].claim).toBeNull()
    expect(await audited()).toMatchObject({ details: { approvalId: id, claimed: false } })
    const told = await gate.feed(
      ['APPROVAL_RELEASED'],
      '... on ApprovalClaimEvent { claimedBy approval { id } }',
      (events) => events.some((event) => event['approval'].id === id),
    )
    expect(told.at(-1)).toMatchObject({ claimedBy: keys.one.id })
    // Nothing is left to give up.
    expect((await releaseIt(id, keys.two.secret))['approval'].claim).toBeNull()
    expect((await claim(id, keys.two.secret))['approval'].claim).toMatchObject({ by: keys.two.id })
  })

  test('ends by itself, and somebody else may have it then', async () => {
    const { id } = await asked()
    await claim(id, keys.one.secret)
    await query(
      h.app.services.db,
      sql`update approvals set claim = jsonb_set(claim, '{until}', to_jsonb(now())) where id = ${id}`,
    )
    expect(await claimOf(id)).toBeNull()
    expect((await claim(id, keys.two.secret))['approval'].claim).toMatchObject({ byName: 'Bob' })
  })

  test('never blocks a verdict of somebody else, and is over with it', async () => {
    const { id, name } = await asked()
    await claim(id, keys.one.secret)
    expect((await gate.decide(id, 'APPROVE', {}, keys.two.secret))['approval']).toMatchObject({
      status: 'APPROVED',
    })
    expect(await claimOf(id)).toBeNull()
    expect(await claim(id, keys.one.secret)).toMatchObject({ __typename: 'ApprovalAlreadyDecidedError' })
    await gate.feed(['TOOL_CALL_SETTLED'], '... on ToolCallSettledEvent { name }', (events) =>
      events.some((event) => event['name'] === name),
    )
    expect(gate.paid(name)).toHaveLength(1)
  })

  test('is over when its author has voted: the next person may have it, the first not again', async () => {
    const { id } = await asked({ quorum: 2 })
    await claim(id, keys.one.secret)
    await gate.decide(id, 'APPROVE', {}, keys.one.secret)
    expect(await claimOf(id)).toBeNull()
    expect(await claim(id, keys.one.secret)).toMatchObject({ __typename: 'ConflictError' })
    expect((await claim(id, keys.two.secret))['approval'].claim).toMatchObject({ by: keys.two.id })
  })

  test('needs the right to decide, and a question that is still open', async () => {
    const { id } = await asked({ approvers: ['ADMIN'] })
    expect(await refusal('claimApproval', { approvalId: id }, keys.one.secret)).toBe('FORBIDDEN')
    expect(await claim(id, keys.caller.secret)).toMatchObject({ __typename: 'NotFoundError' })
    const denial = { action: 'approvals:Decide', principalId: keys.caller.id, outcome: 'DENIED' }
    expect(await audited()).toMatchObject(denial)
    expect(await refusal('releaseApproval', { approvalId: id }, keys.one.secret)).toBe('FORBIDDEN')
    const late = await asked()
    await gate.bringForward(late.id, 'expiry')
    expect(await claim(late.id, keys.one.secret)).toMatchObject({ __typename: 'ApprovalExpiredError' })
  })
})

describe('longer time', () => {
  test('moves deadline and wake-up together, and is told and audited', async () => {
    const { id, callId } = await asked({ timeoutSeconds: 60 })
    const until = inMinutes(90)
    expect((await extend(id, until))['approval']).toMatchObject({ status: 'PENDING', expiresAt: until })
    expect((await gate.approval(id))['expiresAt']).toBe(until)
    expect(await rowOf(id)).toEqual({ until: Date.parse(until), wake: Date.parse(until) })
    expect(await audited()).toMatchObject({
      action: 'approvals:Decide',
      principalId: keys.one.id,
      details: { approvalId: id, toolCallId: callId, expiresAt: until },
    })
    const told = await gate.feed(
      ['APPROVAL_EXTENDED'],
      '... on ApprovalExtendedEvent { extendedBy expiresAt approval { id expiresAt } }',
      (events) => events.some((event) => event['approval'].id === id),
    )
    expect(told.at(-1)).toMatchObject({
      extendedBy: keys.one.id,
      expiresAt: until,
      approval: { expiresAt: until },
    })
    // The later deadline is a deadline.
    await gate.bringForward(id, 'expiry')
    await gate.untilCall(callId, ['EXPIRED'])
  })

  test('of a question in a run is in the log of the run, which goes on after a verdict', async () => {
    const tool = await gate.gated({ mode: 'ALWAYS', timeoutSeconds: 60 })
    const run = await gate.ask(tool)
    const [approval] = await gate.pending(run)
    const until = inMinutes(60)
    await extend(approval!['id'], until)
    const log = await h.gql(
      `query($id: ID!) { generation(id: $id) { events(first: 50) { nodes { type ... on ApprovalExtendedEvent { expiresAt } } } } }`,
      { id: run },
    )
    expect(log.data['generation'].events.nodes.at(-1)).toEqual({
      type: 'APPROVAL_EXTENDED',
      expiresAt: until,
    })
    await gate.decide(approval!['id'], 'APPROVE')
    expect(await h.until(run, ['COMPLETED', 'FAILED'])).toMatchObject({ status: 'COMPLETED' })
    expect(gate.paid(tool.name)).toHaveLength(1)
  })

  test('leaves an escalation at its time, also when that is due at this moment', async () => {
    const { id } = await asked({ timeoutSeconds: 60, escalateAfterSeconds: 30 })
    const before = await rowOf(id)
    const until = inMinutes(30)
    await extend(id, until)
    expect(await rowOf(id)).toEqual({ until: Date.parse(until), wake: before.wake })
    await gate.bringForward(id, 'escalation')
    await gate.feed(['APPROVAL_ESCALATED'], '... on ApprovalEscalatedEvent { approval { id } }', (events) =>
      events.some((event) => event['approval'].id === id),
    )
    expect(await rowOf(id)).toEqual({ until: Date.parse(until), wake: Date.parse(until) })
    const later = inMinutes(45)
    await extend(id, later)
    expect(await rowOf(id)).toEqual({ until: Date.parse(later), wake: Date.parse(later) })
  })

  test('that is not longer changes nothing, so a repeat is no second extension', async () => {
    const { id } = await asked()
    const until = inMinutes(60)
    await extend(id, until)
    expect((await extend(id, until))['approval'].expiresAt).toBe(until)
    expect((await extend(id, inMinutes(20)))['approval'].expiresAt).toBe(until)
    const told = await query(
      h.app.services.db,
      sql`select 1 from events where type = 'APPROVAL_EXTENDED' and data->>'approvalId' = ${id}`,
    )
    expect(told).toHaveLength(1)
  })

  test('ends seven days after the question', async () => {
    const { id } = await asked()
    const { createdAt } = await gate.approval(id)
    const latest = Date.parse(createdAt) + 7 * 86_400_000
    expect(await extend(id, new Date(latest + 1000).toISOString())).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'until'] }],
    })
    const done = await extend(id, new Date(latest).toISOString())
    expect(done['approval']).toMatchObject({
      expiresAt: new Date(latest).toISOString(),
      extendableUntil: new Date(latest).toISOString(),
    })
  })

  test('is not given by whoever asked, nor without the right to decide, nor to a settled question', async () => {
    const { id } = await asked()
    const until = inMinutes(60)
    const { data, errors } = await h.gql(
      'mutation($input: ExtendApprovalInput!) { extendApproval(input: $input) { __typename } }',
      { input: { approvalId: id, until } },
    )
    expect(data?.['extendApproval'] ?? null).toBeNull()
    expect(errors?.[0]).toMatchObject({ extensions: { code: 'FORBIDDEN', action: 'approvals:Decide' } })
    expect(await audited()).toMatchObject({ outcome: 'DENIED', action: 'approvals:Decide' })
    expect(await extend(id, until, keys.caller.secret)).toMatchObject({ __typename: 'NotFoundError' })
    await gate.decide(id, 'REJECT')
    expect(await extend(id, until)).toMatchObject({ __typename: 'ApprovalAlreadyDecidedError' })
    const late = await asked()
    await gate.bringForward(late.id, 'expiry')
    expect(await extend(late.id, until)).toMatchObject({ __typename: 'ApprovalExpiredError' })
  })
})

/** Deadline and wake-up of an approval, in milliseconds since 1970. */
async function rowOf(id: string): Promise<{ until: number; wake: number }> {
  const [row] = await query<{ until: number; wake: number }>(
    h.app.services.db,
    sql`select (extract(epoch from expires_at) * 1000)::float8 as until,
      (extract(epoch from wake_at) * 1000)::float8 as wake from approvals where id = ${id}`,
  )
  return row!
}
