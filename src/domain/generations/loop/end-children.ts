/** Ends a generation that has open child runs: descendants end first, then the generation. */
import { atomically, nowPlus, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { Services } from '../../access/index.ts'
import { isOpen, loadCallsOf, type ToolCall } from '../../tool-calls/index.ts'
import { askToEnd } from '../cancel.ts'
import { ownDeadline } from '../nesting/deadline.ts'
import { commit } from '../transaction/commit.ts'
import { waitsForChild } from '../nesting/limits.ts'
import { lockOwn, type Turn } from '../transaction/turn.ts'

/** Time after which a lost hint is made up for by reading the rows again, in milliseconds. */
const recheckMs = 5000

/**
 * Cancels the child runs that these calls wait for, each in a transaction of its own that locks no ancestor before
 * the run has ended. Child runs past their deadline expire by themselves. Idempotent; a run that was asked ends
 * despite crashes.
 */
export async function askChildrenToEnd(services: Services, calls: readonly ToolCall[]): Promise<void> {
  const ids = calls.filter(waitsForChild).map((call) => call.childId!)
  if (ids.length === 0) return
  const rows = await query<{ id: string }>(
    services.db,
    sql`select id from generations as o where id in ${ids} and finished_at is null and cancel_requested_at is null
      and (deadline_at > now() or ${ownDeadline(sql`o.id`, sql`o.deadline_at`)} > now())`,
  )
  for (const { id } of rows) {
    const { hints } = await atomically(services.db, (tx) =>
      askToEnd(tx, id, 'The run that asked for it has ended.'),
    )
    services.pubsub.publish(hints)
  }
}

/** Cancels the child runs and releases the row until the last of them has ended. */
export async function cancelChildren({ services, held, calls, inFlight }: Turn): Promise<'goOn' | 'parked'> {
  await askChildrenToEnd(services, calls)
  if (inFlight.ids.size > 0) {
    // Calls that were sent are allowed to finish before the row is released.
    await inFlight.idle()
    return 'goOn'
  }
  const parked = await atomically(services.db, async (tx) => {
    await lockOwn(tx, held)
    const open = (await loadCallsOf(tx, [held.id])).filter(isOpen)
    if (!open.some(waitsForChild)) return false
    await commit(tx, held, { set: [sql`status = 'WAITING'`], wakeAt: nowPlus(recheckMs), release: true })
    return true
  })
  return parked ? 'parked' : 'goOn'
}
