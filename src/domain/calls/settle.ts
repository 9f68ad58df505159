/** Writes outcomes that arrive in the same moment with one statement, each under the lease of its call. */
import { writeJson } from '../../core/json.ts'
import { batchStatements } from '../../store/db/batch-statements.ts'
import { writtenRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import type { Held } from '../../store/work/work.ts'
import type { Services } from '../access/index.ts'
import { insertEntriesOf } from '../audit/index.ts'
import { eventColumns, insertEventRows, toolCallSettled } from '../events/index.ts'
import {
  executedEntry,
  lockHeldCalls,
  settleCalls,
  toolCallOf,
  underOwnLeases,
  wholeRow,
  type ToolCall,
} from '../tool-calls/index.ts'
import { statusOf, type Finished } from '../tools/index.ts'

/** The outcome of a call that is EXECUTING under this lease. */
export interface Ending {
  call: ToolCall
  held: Held
  finished: Finished
}

type Uses = Pick<Services, 'db' | 'leaseDb'>

/** Writes one outcome as `settleAll` does, with others of the same moment. */
export const settleHeld = batchStatements(settleAll, ({ finished }: Ending) => sizeOf(finished))

function sizeOf({ result }: Finished): number {
  return writeJson(result).length
}

/**
 * Writes the outcomes with their events and audit entries, each if its lease holds and nobody has locked the call; it waits
 * for nothing. Null for a call of which it wrote nothing. An error of the connection does not tell whether it did.
 */
async function settleAll({ leaseDb }: Uses, parts: readonly Ending[]): Promise<(ToolCall | null)[]> {
  const outcomes = parts.map(({ call: { id }, held: { epoch }, finished }) => ({
    id,
    epoch,
    status: statusOf(finished),
    result: finished.result,
  }))
  const entries = parts.map(({ call, finished }) => ({
    of: call.id,
    entry: executedEntry(call, statusOf(finished)),
  }))
  const rows = await writtenRows(leaseDb, toolCalls, [
    sql`o as (${lockHeldCalls(parts.map(({ held }) => held))})`,
    sql`g as (${settleCalls('settle', outcomes, underOwnLeases, {}, wholeRow)})`,
    sql`e as (${insertEventRows(settledEvents)})`,
    sql`a as (${insertEntriesOf(entries)})`,
  ])
  const settled = new Map(rows.map((row) => [row.id, toolCallOf(row)]))
  return parts.map(({ call }) => settled.get(call.id) ?? null)
}

const settledEvents = sql`select project_id, null::text as generation_id, null::int as seq,
  ${eventColumns(toolCallSettled, {
    toolCallId: sql`g.id`,
    name: sql`g.runtime_name`,
    status: sql`g.status`,
  })}, g.requested_by
  from g`
