/** The statements that insert into tool_calls: the calls of a step, and a call outside any generation. */
import { sql, type SQL } from 'drizzle-orm'
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { nowPlus } from '../../store/db/database.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { fromRecordset, insertSelect, recordset } from '../../store/db/write.ts'
import { newAttempt } from './attempts.ts'
import type { CallValues } from './sql.ts'
import type { To } from './state.ts'

/** A call as its generation proposes it. */
export interface ProposedCall {
  id: string
  stepIndex: number
  callIndex: number
  providerCallId: string
  tool: {
    id: string
    version: number
    kind: string
    action: string | null
    definitionHash: string | null
  } | null
  runtimeName: string
  status: To<'propose'>
  arguments: JsonObject | null
  rawArguments: string | null
  masked: string[][] | null
  result: ToolResult | null
  errorCode: string | null
  approvalId: string | null
  grantId: string | null
  /** For AWAITING_CLIENT: how long its output is waited for, in milliseconds. */
  waitMs: number | null
}

/** Part over the generation's row `g(id, project_id, requested_by, requester)`: the calls of a step. EXECUTING ones are sent next. */
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

/** One call outside any generation; `leaseMs` when it is sent at once by whoever inserts it. */
export function insertCall(id: string, values: CallValues, leaseMs: number | null): SQL {
  const sent = {
    status: 'EXECUTING',
    attempt: 1,
    attempts: sql`jsonb_build_array(${newAttempt(sql`1`, sql`${id}::text`)})`,
    startedAt: sql`now()`,
  }
  return sql`${insertSelect(toolCalls, {
    id,
    ...values,
    ...(leaseMs === null ? {} : { ...sent, wakeAt: nowPlus(leaseMs) }),
  })} returning *`
}
