/** What happens to open calls when a generation ends. */
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { failure } from '../../../../src/domain/generations/transaction/terminal.ts'
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

/** The rows that the statements settle, by the id of the call. */
function settledBy(statements: SQL[]): Record<string, unknown> {
  const rows = statements.flatMap((statement) => {
    const { params } = new PgDialect().sqlToQuery(statement)
    const json = params.find((param) => typeof param === 'string' && param.startsWith('['))
    return JSON.parse(json as string) as { id: string }[]
  })
  return Object.fromEntries(rows.map((row) => [row.id, row]))
}

test('a call that was sent and got no result is UNKNOWN, one that was not sent is CANCELLED', () => {
  const change = failure('INTERNAL', 'A mistake.', [
    call('EXECUTING'),
    call('APPROVED'),
    call('EXECUTING', { id: 'call_of_agent', childId: 'gen_1' }),
    call('SUCCEEDED', { settledAt: new Date() }),
  ])
  const settled = settledBy(change.calls!)
  expect(settled).toMatchObject({
    call_EXECUTING: { status: 'UNKNOWN', error_code: 'outcome_unknown', result: { isError: true } },
    call_APPROVED: { status: 'CANCELLED', error_code: 'failed' },
    call_of_agent: { status: 'CANCELLED', error_code: 'failed' },
  })
  expect(Object.keys(settled)).toHaveLength(3)
  const facts = { name: 'pay', stepIndex: 1 }
  expect(change.events).toEqual([
    {
      type: 'TOOL_CALL_UNKNOWN',
      data: { ...facts, toolCallId: 'call_EXECUTING', reason: 'GENERATION_ENDED' },
    },
    { type: 'TOOL_CALL_SETTLED', data: { ...facts, toolCallId: 'call_EXECUTING', status: 'UNKNOWN' } },
    { type: 'TOOL_CALL_SETTLED', data: { ...facts, toolCallId: 'call_APPROVED', status: 'CANCELLED' } },
    { type: 'TOOL_CALL_SETTLED', data: { ...facts, toolCallId: 'call_of_agent', status: 'CANCELLED' } },
    { type: 'GENERATION_FAILED', data: { code: 'INTERNAL' } },
  ])
})
