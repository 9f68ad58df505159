/** Begins calls that arrive in the same moment with one statement, each under its own condition. */
import { writtenRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { rowText, type Values } from '../../store/db/write.ts'
import type { Services } from '../access/index.ts'
import { eventColumns, insertEventRows, toolCallStarted } from '../events/index.ts'
import { insertSentCalls, toolCallOf, type ToolCall } from '../tool-calls/index.ts'
import { upstreamRowOf, type UpstreamRow } from '../upstream/index.ts'
import { basisColumns, basisHolds, basisRow, type Basis } from './basis.ts'
import { together, type alone } from './together.ts'

/** A call that nothing stops. */
export interface Beginning {
  /** The same columns for all calls. */
  row: Values<typeof toolCalls> & { id: string }
  basis: Basis
}

/** A call as it was committed. */
export interface WrittenCall {
  call: ToolCall
  /** The row of an mcp tool's upstream. */
  upstream: UpstreamRow | null
}

type Uses = Pick<Services, 'db' | 'limits'>

/**
 * Commits the call as EXECUTING with its event. Null when its basis does not hold any more, `alone` when it needs a statement
 * of its own: nothing of it was written. An error of the connection does not tell whether it was written.
 */
export function beginTogether(
  services: Uses,
  { row, basis }: Beginning,
): Promise<WrittenCall | null | typeof alone> {
  const whole = { ...row, ...basisRow(basis) }
  return begin(services, { id: row.id, keys: Object.keys(whole), text: rowText(toolCalls, whole) })
}

const begin = together(
  async ({ db, limits }: Uses, parts: readonly { id: string; keys: string[]; text: string }[]) => {
    const calls = {
      keys: parts[0]!.keys,
      texts: parts.map(({ text }) => text),
      more: basisColumns,
    }
    const rows = await writtenRows<typeof toolCalls, { upstream: UpstreamRow | null }>(
      db,
      toolCalls,
      [
        sql`g as (${insertSentCalls(calls, limits.leaseMs, basisHolds)})`,
        sql`e as (${insertEventRows(startedEvents)})`,
      ],
      sql`, case when kind = 'mcp' then ${upstreamRowOf(sql`g.tool_id`)} end as upstream`,
    )
    const begun = new Map(rows.map(({ upstream, ...own }) => [own.id, { call: toolCallOf(own), upstream }]))
    return parts.map(({ id }): WrittenCall | null => begun.get(id) ?? null)
  },
)

const startedEvents = sql`select project_id, null::text as generation_id, null::int as seq,
  ${eventColumns(toolCallStarted, {
    toolCallId: sql`g.id`,
    name: sql`g.runtime_name`,
    attempt: sql`g.attempt`,
  })}
  from g`
