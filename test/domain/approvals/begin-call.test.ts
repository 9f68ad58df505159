/** Whether the verdict on a call may begin it: only when the loop of its run would begin that call first. */
import { expect, test } from 'vitest'
import { callToBegin } from '../../../src/domain/approvals/begin-call.ts'
import type { SeenRun } from '../../../src/domain/approvals/run-state.ts'
import type { ToolCall } from '../../../src/domain/tool-calls/index.ts'

const now = Date.UTC(2026, 0, 1)
const call = (more: Partial<ToolCall> = {}) =>
  ({ id: 'asked', stepIndex: 1, status: 'AWAITING_APPROVAL', settledAt: null, ...more }) as ToolCall
const run = (others: ToolCall[] = [], more: object = {}, row: object = {}) =>
  ({
    row: { stepCount: 1, deadlineAt: new Date(now + 1), ...row },
    calls: [...others, call()],
    now,
    paused: false,
    ...more,
  }) as SeenRun
const begins = (seen: SeenRun) => callToBegin(seen, 'asked')?.id === 'asked'

test('a call begins that is alone, or whose siblings have ended or wait for somebody', () => {
  expect(begins(run())).toBe(true)
  const settled = call({ id: 'done', status: 'SUCCEEDED', settledAt: new Date(now) })
  const client = call({ id: 'client', status: 'AWAITING_CLIENT' })
  expect(begins(run([settled, client, call({ id: 'other' })]))).toBe(true)
})

test.each(['PROPOSED', 'APPROVED', 'EXECUTING'] as const)('not beside a sibling that is %s', (status) => {
  expect(begins(run([call({ id: 'sibling', status })]))).toBe(false)
})

test('not while a pause holds the run, after its time, or in another step', () => {
  expect(begins(run([], { paused: true }))).toBe(false)
  expect(begins(run([], {}, { deadlineAt: new Date(now) }))).toBe(false)
  expect(begins(run([], {}, { stepCount: 2 }))).toBe(false)
})
