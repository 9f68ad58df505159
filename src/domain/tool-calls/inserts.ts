/** The statements that insert tool calls: those of a step of a generation, and those outside any generation. */
import { argumentOrderOf } from '../../core/key-order.ts'
import { nowPlus } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { fromRecordset, insertSelect, recordset, recordsetOfTexts, type Values } from '../../store/db/rows.ts'
import { parkedMs } from '../basis/index.ts'
import { newAttempt } from './attempts.ts'
import type { ProposedCall } from './writes.ts'

/**
 * Part over the generation's row `g(id, project_id, requested_by, requester)`: inserts the calls of a step. EXECUTING
 * ones are sent next.
 */
export function insertCalls(calls: readonly ProposedCall[]): SQL {
  const rows = calls.map((call) => ({
    id: call.id,
    stepIndex: call.stepIndex,
    callIndex: call.callIndex,
    providerCallId: call.providerCallId,
    toolId: call.tool?.id,
    toolVersion: call.tool?.version,
    kind: call.tool?.kind,
    action: call.tool?.action,
    definitionHash: call.tool?.definitionHash,
    runtimeName: call.runtimeName,
    status: call.status,
    arguments: call.arguments,
    argumentOrder: argumentOrderOf(call.arguments, call.tool?.inputSchema),
    rawArguments: call.rawArguments,
    masked: call.masked,
    result: call.result,
    isError: call.result?.isError,
    errorCode: call.errorCode,
    approvalId: call.approvalId,
    grantId: call.grantId,
    wait_ms: call.waitMs,
  }))
  const { wait_ms: _wait, ...own } = rows[0]!
  const isSent = sql`x.status = 'EXECUTING'`
  return insertSelect(
    toolCalls,
    {
      ...fromRecordset(toolCalls, Object.keys(own) as (keyof typeof own)[]),
      projectId: sql`g.project_id`,
      generationId: sql`g.id`,
      source: 'GENERATION',
      requestedBy: sql`g.requested_by`,
      requester: sql`g.requester`,
      attempt: sql`case when ${isSent} then 1 else 0 end`,
      attempts: sql`case when ${isSent} then jsonb_build_array(${newAttempt(sql`1`, sql`x.id`)}) else '[]'::jsonb end`,
      startedAt: sql`case when ${isSent} then now() end`,
      settledAt: sql`case when x.result is not null then now() end`,
      deadlineAt: sql`now() + x.wait_ms * interval '1 millisecond'`,
    },
    sql`g, ${recordset(toolCalls, rows, { wait_ms: 'float8' })}`,
  )
}

/** Calls outside any generation that are inserted together: rows as `rowText` makes them, all with these keys. */
export interface CallRows {
  keys: readonly string[]
  texts: readonly string[]
  /** The columns that the table does not have, by name with their SQL types. */
  more: Record<string, string>
}

/**
 * Inserts those of the calls outside any generation for which `when` holds, a condition on the row `x`. `leaseMs`: as
 * EXECUTING, under the lease of the process that sends them at once; null: they wait, in the status of their rows, PROPOSED
 * ones for the end of a pause, or are REJECTED for good.
 */
export function insertDirectCalls({ keys, texts, more }: CallRows, leaseMs: number | null, when: SQL): SQL {
  const own = keys.filter((key) => !(key in more)) as (keyof Values<typeof toolCalls> & string)[]
  const sent = {
    status: 'EXECUTING',
    attempt: 1,
    attempts: sql`jsonb_build_array(${newAttempt(sql`1`, sql`x.id`)})`,
    startedAt: sql`now()`,
  }
  const parked = sql`case when x.status = 'PROPOSED' then ${nowPlus(parkedMs)} end`
  const settled = sql`case when x.status = 'REJECTED' then now() end`
  const values = {
    ...fromRecordset(toolCalls, own),
    ...(leaseMs === null
      ? { wakeAt: parked, notBefore: parked, settledAt: settled }
      : { ...sent, wakeAt: nowPlus(leaseMs) }),
  }
  return sql`${insertSelect(toolCalls, values, recordsetOfTexts(toolCalls, keys, texts, more))}
    where ${when}
    returning *`
}
