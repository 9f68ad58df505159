/**
 * The outcome of votes on an approval: one rejection settles, a quorum approves, and what follows depends on the
 * call.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Approval, Vote } from '../../../src/domain/approvals/approval.ts'
import { rejectedResult } from '../../../src/domain/approvals/approval.ts'
import { outcomeOf } from '../../../src/domain/approvals/judge-verdict.ts'

const vote = (verdict: Vote['verdict'], by = 'key_a', reason: string | null = null): Vote => ({
  verdict,
  by,
  byName: by,
  at: '2026-01-01T00:00:00.000Z',
  from: null,
  reason,
  note: 'for colleagues',
})
const approval = (more: object = {}, quorum = 1): Approval =>
  ({
    id: 'apr_x',
    toolCallId: 'call_x',
    runtimeName: 'pay',
    onApprove: 'RUN',
    clientTimeoutMs: null,
    requirement: { quorum },
    ...more,
  }) as Approval
const types = (outcome: { events: { type: string }[] }) => outcome.events.map((event) => event.type)

test('one rejection settles it despite earlier approvals, and the model gets the reason and nothing else', () => {
  const outcome = outcomeOf(approval({}, 5), [vote('APPROVE'), vote('REJECT', 'key_b', 'too much')])
  expect(outcome).toMatchObject({
    status: 'REJECTED',
    wake: 'now',
    call: {
      status: 'REJECTED',
      result: { isError: true, structuredContent: { error: { code: 'approval_rejected' } } },
    },
  })
  expect(types(outcome)).toEqual(['APPROVAL_DECIDED', 'TOOL_CALL_SETTLED'])
  const told = JSON.stringify(outcome.call)
  expect(told).toContain('too much')
  expect(told).not.toContain('for colleagues')
})

test('a rejection without a reason has no reason in its result', () => {
  expect(rejectedResult({ reason: null }).structuredContent).toEqual({
    error: { code: 'approval_rejected', message: 'A person denied this call; it was not run.' },
  })
})

test('approvals settle exactly when their number reaches the quorum', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 10 }), (quorum, given) => {
      const votes = Array.from({ length: given }, (_, i) => vote('APPROVE', `key_${i}`))
      const outcome = outcomeOf(approval({}, quorum), votes)
      expect(outcome.status).toBe(given < quorum ? 'PENDING' : 'APPROVED')
      if (given < quorum) {
        expect(outcome).toMatchObject({ call: null, wake: null })
        expect(types(outcome)).toEqual(['APPROVAL_VOTED'])
      }
    }),
  )
})

test('an approved call runs here, or is passed to the client, or was the final answer itself', () => {
  const run = outcomeOf(approval(), [vote('APPROVE')])
  expect(run).toMatchObject({ wake: 'now' })
  expect(run.call).toEqual({ status: 'APPROVED', waitMs: null })
  expect(types(run)).toEqual(['APPROVAL_DECIDED'])
  const client = outcomeOf(approval({ onApprove: 'CLIENT', clientTimeoutMs: 5000 }), [vote('APPROVE')])
  expect(client.call).toEqual({ status: 'AWAITING_CLIENT', waitMs: 5000 })
  expect(types(client)).toEqual(['APPROVAL_DECIDED', 'REQUIRES_ACTION'])
  const answer = outcomeOf(approval({ onApprove: 'SKIP' }), [vote('APPROVE')])
  expect(answer).toMatchObject({ call: { status: 'SKIPPED' }, wake: 'now' })
  expect(types(answer)).toEqual(['APPROVAL_DECIDED', 'TOOL_CALL_SETTLED'])
})
