/** What becomes of open calls when a generation ends. */
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
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

/** The rows that the one statement settles. */
function settledBy([statement, ...others]: SQL[]): unknown {
  expect(others).toEqual([])
  const { params } = new PgDialect().sqlToQuery(statement!)
  return JSON.parse(params.find((param) => typeof param === 'string' && param.startsWith('[')) as string)
}

test('a call that was sent and not heard out is UNKNOWN, one that was not sent is CANCELLED', () => {
  const change = failed('INTERNAL', 'A mistake.', [
    call('EXECUTING'),
    call('APPROVED'),
    call('EXECUTING', { id: 'call_of_agent', childId: 'gen_1' }),
    call('SUCCEEDED', { settledAt: new Date() }),
  ])
  expect(settledBy(change.calls!)).toMatchObject([
    { id: 'call_EXECUTING', status: 'UNKNOWN', error_code: 'outcome_unknown', result: { isError: true } },
    { id: 'call_APPROVED', status: 'CANCELLED', error_code: 'failed' },
    { id: 'call_of_agent', status: 'CANCELLED', error_code: 'failed' },
  ])
  expect(change.events.map((event) => ('status' in event.data ? event.data.status : undefined))).toEqual([
    'UNKNOWN',
    'CANCELLED',
    'CANCELLED',
    undefined,
  ])
})
