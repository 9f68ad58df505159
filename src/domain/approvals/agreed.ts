/** Approvals of calls that were agreed to, as a part of other reads. */
import { rowsAsJson, rowsOfJson } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { approvalOf, type Approval } from './approval.ts'

/**
 * The approvals of the approved calls among these as a value of a larger statement; `which` is a condition on the row `c`.
 * Parse it with `approvalsOfJson`.
 */
export function agreedAsJson(which: SQL): SQL {
  return rowsAsJson(
    approvals,
    sql`where id in (select c.approval_id from tool_calls as c where ${which} and c.status = 'APPROVED')`,
  )
}

export function approvalsOfJson(value: readonly object[]): Approval[] {
  return rowsOfJson(approvals, value).map(approvalOf)
}
