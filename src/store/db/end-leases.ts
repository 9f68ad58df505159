/** Ends the leases of every process, after work of an unknown amount was lost. */
import { query, type Database } from './database.ts'
import { sql } from './sql.ts'
import type { WorkTable } from './tables/columns.ts'

/**
 * Added to every epoch. Epochs that were given out in a lost future are above those of the rows, and must not be given
 * out again: no row was claimed so often in what was lost.
 */
const leap = 2 ** 16

/** The rows that can be claimed again, and when a process works on one. */
const workRows: Record<WorkTable, { open: string; held: string }> = {
  generations: { open: 'finished_at is null', held: `status = 'RUNNING'` },
  // A call inside a generation is held with it, unless a person lets it run again: then it is settled and yet runs.
  tool_calls: {
    open: `(settled_at is null or status in ('PROPOSED', 'EXECUTING'))`,
    held: `status = 'EXECUTING' and (generation_id is null or settled_at is not null)`,
  },
  upstreams: { open: 'true', held: 'false' },
  webhook_cursors: { open: 'true', held: `status = 'WORKING'` },
  slack_integrations: { open: 'true', held: `status = 'WORKING'` },
  // A tick that was taken lies in the past: it is due.
  triggers: { open: 'wake_at is not null', held: 'next_at <= now()' },
  retentions: { open: 'wake_at is not null', held: `status = 'SWEEPING'` },
}

/**
 * In the caller's transaction: no process may write a row that it held before, also when it claimed it in a future that
 * was lost, and what was in work is due now. Calls whose outcome nobody wrote are repeated or become UNKNOWN, as after
 * any worker that was lost. Has no time limit.
 */
export async function endEveryLease(tx: Database): Promise<void> {
  await query(tx, sql`set local statement_timeout = 0`)
  for (const [table, { open, held }] of Object.entries(workRows))
    await query(
      tx,
      sql.raw(`update ${table} set
          epoch = epoch + ${leap},
          wake_at = case when ${held} then now() else wake_at end
        where ${open}`),
    )
}
