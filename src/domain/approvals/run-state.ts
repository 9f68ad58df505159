/** What a decision about a run needs beside its row, read in the same snapshot. */
import type { Moment } from '../../core/stopwatch.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { runIsFree } from '../../store/work/pauses.ts'
import { callsAsJson, callsOfJson, type ToolCall } from '../tool-calls/index.ts'
import { toolVersionsOf, type ToolVersions } from '../tools/index.ts'
import type { Approval } from './approval.ts'
import { agreedAsJson, approvalsOfJson } from './read.ts'

export interface RunState {
  /** All calls of the run so far, in step and call order. */
  calls: ToolCall[]
  toolVersions: ToolVersions
  /** The approvals of the calls that are APPROVED, as far as they were read. */
  agreed: readonly Approval[]
  /** Time of the database, in milliseconds since 1970. */
  now: number
  /** Whether a pause holds the run, and when the statement was sent that found it so. */
  paused: boolean
  readAt: Moment
}

/** The columns of `stateOfRun`. */
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

/** `readAt`: when the statement was sent. */
export function stateOfRow({ now, free, toolVersions, ...row }: RunStateRow, readAt: Moment): RunState {
  const [calls, agreed] = [callsOfJson(row.calls), approvalsOfJson(row.agreed)]
  return { calls, toolVersions, agreed, now, paused: !free, readAt }
}
