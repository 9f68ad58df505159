/**
 * What the work on a run, or on a call outside any, needs beside its row, read in one snapshot.
 */
import { rowsAsJson, rowsOfJson } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { approvalOf, type Approval } from './approval.ts'
import type { Moment } from '../../core/time.ts'
import { generations } from '../../store/db/tables/generations.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { areFree, runIsFree } from '../basis/index.ts'
import { callsAsJson, callsOfJson, isOpen, type ToolCall } from '../tool-calls/index.ts'
import { toolVersionsOf, type ToolVersions } from '../tools/index.ts'
import type { ClaimedOwner } from '../../store/work/owner.ts'

/**
 * The approvals of the approved calls among these as a value of a larger statement; `which` is a condition on the row `c`.
 * Parse it with `approvalsOfJson`.
 */
function agreedAsJson(which: SQL): SQL {
  return rowsAsJson(
    approvals,
    sql`where id in (select c.approval_id from tool_calls as c where ${which} and c.status = 'APPROVED')`,
  )
}

function approvalsOfJson(value: readonly object[]): Approval[] {
  return rowsOfJson(approvals, value).map(approvalOf)
}

export interface RunState {
  /** All calls of the run so far, in step and call order; or the one that is its own work row. */
  calls: ToolCall[]
  toolVersions: ToolVersions
  /** The approvals of the calls that are APPROVED, as far as they were read. */
  agreed: readonly Approval[]
  /** Time of the database, in milliseconds since 1970. */
  now: number
  /** Whether a pause holds the run or the call, and when the statement was sent that found it so. */
  paused: boolean
  readAt: Moment
}

/** The columns of `stateOfRun` and `stateOfCall`. */
export interface RunStateRow {
  now: number
  free: boolean
  calls: object[]
  agreed: object[]
  toolVersions: ToolVersions
}

/** Selects the state of a run, as columns beside those of its row. Read them with `stateOfRow`. */
export function stateOfRun(id: SQL | string, settings: SQL): SQL {
  return sql`(extract(epoch from now()) * 1000)::float8 as now,
      ${runIsFree(id)} as free,
      ${callsAsJson(id)} as calls,
      ${agreedAsJson(sql`c.generation_id = ${id}`)} as agreed,
      ${toolVersionsOf(sql`select jsonb_array_elements_text(${settings}->'toolIds')`)} as "toolVersions"`
}

/** Selects the state of a call outside any run, the row `t` of tool_calls. Read it with `stateOfRow`. */
export const stateOfCall = sql`(extract(epoch from now()) * 1000)::float8 as now,
  ${areFree(sql`t.project_id`, sql`t.tool_id`, sql`t.agent_id`)} as free,
  ${rowsAsJson(toolCalls, sql`where id = t.id`)} as calls,
  ${agreedAsJson(sql`c.id = t.id`)} as agreed,
  ${toolVersionsOf(sql`t.tool_id`)} as "toolVersions"`

/** `readAt`: when the statement was sent. */
export function stateOfRow({ now, free, toolVersions, ...row }: RunStateRow, readAt: Moment): RunState {
  const [calls, agreed] = [callsOfJson(row.calls), approvalsOfJson(row.agreed)]
  return { calls, toolVersions, agreed, now, paused: !free, readAt }
}

/** A run with its row, whose meaning is that of the module generations. */
export interface RunSnapshot extends RunState {
  row: typeof generations.$inferSelect
}

/** What a verdict lets go on: a run; or, without a row, a call that is its own work row. */
export type OwnerSnapshot = RunSnapshot | (RunState & { row: null })

/** The call outside any run that the condition on the row `t` selects, as a value of a larger statement. Parse it with `ownerOfJson`. */
export function callAsJson(which: SQL): SQL {
  return sql`(
    select row_to_json(seen)
    from (select ${stateOfCall} from tool_calls as t where ${which}) as seen
  )`
}

/** The run that the condition on the row `run` selects, as a value of a larger statement. Parse it with `ownerOfJson`. */
export function runAsJson(which: SQL): SQL {
  return sql`(
    select row_to_json(seen)
    from (
      select ${rowsAsJson(generations, sql`where id = run.id`)} as rows,
        ${stateOfRun(sql`run.id`, sql`run.settings`)}
      from generations as run
      where ${which}
    ) as seen
  )`
}

export type OwnerJson = (RunStateRow & { rows?: object[] }) | null

/** `readAt`: when the statement was sent. Null also when a later statement cannot prove that the run is still so. */
export function ownerOfJson(value: OwnerJson, readAt: Moment): OwnerSnapshot | null {
  if (!value) return null
  const { rows, ...beside } = value
  const state = stateOfRow(beside, readAt)
  if (!rows) return { row: null, ...state }
  return isProvedByLog(state) ? { row: rowsOfJson(generations, rows)[0]!, ...state } : null
}

/** Every change of a call raises `last_seq` of its run, but the end of a pause, which takes the delays of calls away. */
function isProvedByLog({ calls }: RunState): boolean {
  return !calls.some((call) => isOpen(call) && call.notBefore !== null)
}

/** What the worker of a run or call gets that a verdict has claimed. */
export interface DecidedOwner extends ClaimedOwner {
  /** As it is now; absent: it must be read. */
  claimed?: OwnerSnapshot
}
