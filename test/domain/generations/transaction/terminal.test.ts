/** What happens to open calls when a generation ends. */
import { expect, test } from 'vitest'
import { failed } from '../../../../src/domain/generations/transaction/terminal.ts'
import type { ToolCall, ToolCallStatus } from '../../../../src/domain/tool-calls/index.ts'

const call = (status: ToolCallStatus, more: Partial<ToolCall> = {}): ToolCall =>
  ({
    id: `call_${status}`,
    runtimeName: 'pay',
    stepIndex: 1,
    settledAt: null,
    childId: null,
    status,
    ...more,
  }) as ToolCall

test('a call that was sent and has no outcome is UNKNOWN, one that was not sent is CANCELLED', () => {
  const change = failed('INTERNAL', 'A mistake.', [
    call('EXECUTING'),
    call('APPROVED'),
    call('EXECUTING', { id: 'call_of_agent', childId: 'gen_1' }),
    call('SUCCEEDED', { settledAt: new Date() }),
  ])
  expect(change.calls).toMatchObject([
    { id: 'call_EXECUTING', status: 'UNKNOWN', errorCode: 'outcome_unknown', result: { isError: true } },
    { id: 'call_APPROVED', status: 'CANCELLED', errorCode: 'failed' },
    { id: 'call_of_agent', status: 'CANCELLED', errorCode: 'failed' },
  ])
  expect(change.events.map((event) => ('status' in event.data ? event.data.status : undefined))).toEqual([
    'UNKNOWN',
    'CANCELLED',
    'CANCELLED',
    undefined,
  ])
})
