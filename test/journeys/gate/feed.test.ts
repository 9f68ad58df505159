/**
 * What reviewers receive: every approval request with its arguments, on one stream that resumes by its cursor; and
 * the run's own log.
 */
import { expect, test } from 'vitest'
import { useGateFixtures } from '../../support/gate-fixtures.ts'

const { h, gate } = await useGateFixtures()

const kinds = [
  'APPROVAL_REQUESTED',
  'APPROVAL_VOTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'APPROVAL_ESCALATED',
  'APPROVAL_VOIDED',
]
const inbox = `subscription($after: String) { projectEvents(after: $after, types: [${kinds.join()}]) { type cursor
  ... on ApprovalRequestedEvent { name toolCall { id status } approval { id status arguments digest expiresAt
    requirement { quorum } requestedBy agent { name } generation { id } } }
  ... on ApprovalVotedEvent { verdict approval { id } } ... on ApprovalDecidedEvent { verdict decidedBy approval { id } }
  ... on ApprovalExpiredEvent { approval { id } } ... on ApprovalEscalatedEvent { approval { id } }
  ... on ApprovalVoidedEvent { reason approval { id } } } }`

test('a reviewer receives a request while it is open, with everything that the decision needs', async () => {
  const { secret, id: reviewer } = await gate.key({ role: 'APPROVER' })
  const tool = await gate.gated({ quorum: 1 })
  const id = await gate.ask(tool, { amount: 42, pin: 'x' })
  const [told] = await h.collect(inbox, { after: '0' }, (events) => events.length === 1, secret)
  expect(told).toMatchObject({
    type: 'APPROVAL_REQUESTED',
    name: tool.name,
    toolCall: { status: 'AWAITING_APPROVAL' },
    approval: {
      status: 'PENDING',
      arguments: { amount: 42, pin: '[masked]' },
      requirement: { quorum: 1 },
      agent: { name: expect.any(String) },
      generation: { id },
    },
  })
  // A stream that resumes at a cursor continues after it: nothing twice, nothing lost.
  await gate.decide(told.approval.id, 'APPROVE', { expectedDigest: told.approval.digest }, secret)
  const rest = await h.collect(inbox, { after: told.cursor }, (events) => events.length === 1, secret)
  expect(rest).toMatchObject([
    { type: 'APPROVAL_DECIDED', verdict: 'APPROVE', decidedBy: reviewer, approval: { id: told.approval.id } },
  ])
})

test('an open stream receives a direct call when it is stopped', async () => {
  const tool = await gate.gated({ timeoutSeconds: 60 })
  const before = await h.collect(inbox, { after: '0' }, (events) => events.length > 0)
  const live = h.collect(inbox, { after: before.at(-1).cursor }, (events) =>
    events.some((event) => event.type === 'APPROVAL_REQUESTED' && event.name === tool.name),
  )
  const call = await gate.call(tool.id, { amount: 9 })
  expect((await live).at(-1).approval).toMatchObject({
    id: call['approval'].id,
    arguments: { amount: 9 },
    agent: null,
    generation: null,
  })
})

test('the whole life of approvals is on the feed in order, each event with its cursor', async () => {
  const tool = await gate.gated({ quorum: 2, escalateAfterSeconds: 10 })
  const { secret } = await gate.key({ role: 'APPROVER' })
  const all = await h.collect(inbox, { after: '0' }, (events) => events.length > 0)
  const voted = (await gate.call(tool.id))['approval'].id
  await gate.decide(voted, 'APPROVE')
  await gate.decide(voted, 'APPROVE', {}, secret)
  const expired = (await gate.call(tool.id))['approval'].id
  await gate.bringForward(expired, 'escalation')
  const of = (events: any[], id: string) => events.filter((event) => event.approval.id === id)
  await h.collect(inbox, { after: all[0].cursor }, (events) =>
    of(events, expired).some((event) => event.type === 'APPROVAL_ESCALATED'),
  )
  await gate.bringForward(expired, 'expiry')
  const told = await h.collect(inbox, { after: all[0].cursor }, (events) =>
    of(events, expired).some((event) => event.type === 'APPROVAL_EXPIRED'),
  )
  expect(of(told, voted).map((event) => event.type)).toEqual([
    'APPROVAL_REQUESTED',
    'APPROVAL_VOTED',
    'APPROVAL_DECIDED',
  ])
  expect(of(told, expired).map((event) => event.type)).toEqual([
    'APPROVAL_REQUESTED',
    'APPROVAL_ESCALATED',
    'APPROVAL_EXPIRED',
  ])
  expect(new Set(told.map((event) => event.cursor)).size).toBe(told.length)
})

test("the run's own log has the same events, without a gap, between the step and what follows", async () => {
  const tool = await gate.gated({ autoApprove: false })
  const id = await gate.ask(tool)
  const [approval] = await gate.pending(id)
  await gate.decide(approval!['id'], 'REJECT')
  const end = await h.until(
    id,
    ['COMPLETED'],
    `events(first: 50) { nodes { type cursor ... on ApprovalRequestedEvent { approval { id } name }
      ... on ApprovalDecidedEvent { verdict approval { id } } } }`,
  )
  expect(end['events'].nodes.map((event: { type: string }) => event.type)).toEqual([
    'GENERATION_QUEUED',
    'GENERATION_STARTED',
    'MESSAGE_COMMITTED',
    'TOOL_CALL_PROPOSED',
    'APPROVAL_REQUESTED',
    'APPROVAL_DECIDED',
    'TOOL_CALL_SETTLED',
    'GENERATION_RESUMED',
    'MESSAGE_COMMITTED',
    'GENERATION_COMPLETED',
  ])
  expect(end['events'].nodes[5]).toMatchObject({ verdict: 'REJECT', approval: { id: approval!['id'] } })
})

test('a key that may follow events but not see approvals receives the event without the approval', async () => {
  const statement = [
    { effect: 'Allow', action: ['events:Subscribe', 'generations:ReachOthers'], resource: ['*'] },
  ]
  const { secret } = await gate.key({ policy: { statement } })
  await gate.call((await gate.gated({})).id)
  const bare = `subscription { projectEvents(after: "0", types: [APPROVAL_REQUESTED]) { type } }`
  expect(await h.collect(bare, {}, (events) => events.length === 1, secret)).toEqual([
    { type: 'APPROVAL_REQUESTED' },
  ])
  await expect(h.collect(inbox, { after: '0' }, (events) => events.length === 1, secret)).rejects.toThrow(
    /approvals:Get|toolCalls:Get/,
  )
})
