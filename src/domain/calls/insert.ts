/** Inserts calls outside any generation: those of the same moment in one statement, each under its own basis. */
import { batchStatements } from '../../store/db/batch-statements.ts'
import { basisColumns, basisHolds, basisRow, type Basis } from '../../store/db/proof.ts'
import { writtenRows } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { rowText, type Values } from '../../store/db/write.ts'
import { areFree } from '../../store/work/pauses.ts'
import type { Services } from '../access/index.ts'
import { insertEntriesOf, type NewAuditEntry } from '../audit/index.ts'
import { eventColumns, insertEventRows, toolCallStarted } from '../events/index.ts'
import { insertDirectCalls, toolCallOf, type ToolCall } from '../tool-calls/index.ts'
import { upstreamRowOf, type UpstreamRow } from '../upstream/index.ts'

/** A call to be inserted. */
export interface NewCall {
  id: string
  /** The columns of the row `x`, all of them in every call of a statement. */
  keys: string[]
  /** Its row as JSON. */
  text: string
  entries: NewAuditEntry[]
}

/** A call as it was committed. */
export interface InsertedCall {
  call: ToolCall
  /** The row of an mcp tool's upstream. */
  upstream: UpstreamRow | null
}

type Uses = Pick<Services, 'db' | 'limits'>

/** What is inserted for a call with this row, if its basis still holds then. */
export function newCall(
  row: Values<typeof toolCalls> & { id: string },
  basis: Basis,
  entries: NewAuditEntry[],
): NewCall {
  const whole = { ...row, ...basisRow(basis) }
  return { id: row.id, keys: Object.keys(whole), text: rowText(toolCalls, whole), entries }
}

/** Commits a call as EXECUTING with its event: `insertCalls`, with others of the same moment. */
export const insertSent = batchStatements(insertCalls, ({ text }: NewCall) => text.length)

/**
 * Commits the calls, with their audit entries, as EXECUTING by this process; without `isSent` as calls that wait, in the
 * status of their rows and with these parts. Null for a call whose basis does not hold any more, or that a pause holds and
 * that would be sent: nothing of it was written. An error of the connection does not tell whether anything was.
 */
export async function insertCalls(
  { db, limits }: Uses,
  calls: readonly NewCall[],
  {
    isSent = true,
    parts = [sql`e as (${insertEventRows(startedEvents)})`],
  }: { isSent?: boolean; parts?: SQL[] } = {},
): Promise<(InsertedCall | null)[]> {
  const rows = { keys: calls[0]!.keys, texts: calls.map(({ text }) => text), more: basisColumns }
  const entries = calls.flatMap(({ id, entries: own }) => own.map((entry) => ({ of: id, entry })))
  const written = await writtenRows<typeof toolCalls, { upstream: UpstreamRow | null }>(
    db,
    toolCalls,
    [
      sql`g as (${insertDirectCalls(rows, isSent ? limits.leaseMs : null, isSent ? sql`${basisHolds} and ${isFree}` : basisHolds)})`,
      ...parts,
      ...(entries.length > 0 ? [sql`a as (${insertEntriesOf(entries)})`] : []),
    ],
    isSent ? sql`, case when kind = 'mcp' then ${upstreamRowOf(sql`g.tool_id`)} end as upstream` : undefined,
  )
  const inserted = new Map(
    written.map(({ upstream = null, ...own }) => [own.id, { call: toolCallOf(own), upstream }]),
  )
  return calls.map(({ id }): InsertedCall | null => inserted.get(id) ?? null)
}

const isFree = areFree(sql`x.project_id`, sql`x.tool_id`, sql`x.agent_id`)

const startedEvents = sql`select project_id, null::text as generation_id, null::int as seq,
  ${eventColumns(toolCallStarted, {
    toolCallId: sql`g.id`,
    name: sql`g.runtime_name`,
    attempt: sql`g.attempt`,
  })}, g.requested_by
  from g`
