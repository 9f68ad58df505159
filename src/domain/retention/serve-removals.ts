/** Serves requests to remove what one requester has left, as a part of a sweep. */
import { atomically, jsonb, query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { dataRemovals } from '../../store/db/tables/retention.ts'
import { appendProjectEvents, dataRemovalFinished } from '../events/index.ts'
import { erasePerson, eraseTraces } from './erase.ts'
import { countRuns } from './find-runs.ts'
import { youngestMs } from './kinds.ts'
import { lockSweep } from './lease.ts'
import { sweepBatches, sweepRuns, type Sweep } from './passes.ts'
import type { DataRemoval, Kept } from './removals.ts'
import { hasYoung, removeCalls, removeFiles, removeThreads } from './remove-others.ts'

/** Serves the removals of a project that are open. False when the process must stop. */
export async function serveRemovals(sweep: Sweep): Promise<boolean> {
  const open = await selectRows(
    sweep.services.db,
    dataRemovals,
    sql`where project_id = ${sweep.projectId} and finished_at is null order by created_at, id`,
  )
  const before = new Date(sweep.now.getTime() - youngestMs)
  for (const removal of open) {
    const { id, requester } = removal
    await atomically(sweep.services.db, async (tx) => {
      // A hold that was put before is seen, and one that is put now waits.
      await lockSweep(tx, sweep.held)
      await eraseTraces(tx, { projectId: sweep.projectId, requester })
    })
    const done =
      (await sweepRuns(sweep, { before, requester }, id)) &&
      (await sweepBatches(sweep, removeCalls(requester), before, id)) &&
      (await sweepBatches(sweep, removeThreads(requester), before, id)) &&
      (await sweepBatches(sweep, removeFiles(requester), before, id))
    if (!done) return false
    await settle(sweep, removal, before)
  }
  return true
}

/** Runs that stay are counted up to here. */
const mostCounted = 10_000

/** Notes what stays. It is finished when nothing has to wait for its age alone, of whatever kind. */
async function settle(
  { services: { db, pubsub }, held, projectId }: Sweep,
  { id, requester }: Pick<DataRemoval, 'id' | 'requester'>,
  before: Date,
): Promise<void> {
  const { runs, kept } = await countRuns(db, { projectId, before, requester }, mostCounted)
  const calls = await countKeptCalls(db, projectId, requester)
  const all: Kept = { ...kept, ...(calls > 0 ? { CALLS: calls } : {}) }
  const old = { projectId, before, removalId: id }
  const isFinished = runs === 0 && !kept.RECENT && !(await hasYoung(db, old, requester))
  const ended = await atomically(db, async (tx) => {
    await lockSweep(tx, held)
    await query(
      tx,
      sql`update data_removals set
          kept = ${jsonb(all)},
          finished_at = case when ${isFinished}::boolean then now() end
        where id = ${id}`,
    )
    if (!isFinished) return []
    await appendProjectEvents(tx, projectId, [dataRemovalFinished({ removalId: id, requester })])
    // What a hold keeps of a person says who it was.
    return kept.HELD ? [] : erasePerson(tx, { projectId, requester })
  })
  pubsub.publish(ended.map((session) => ({ kind: 'signal', name: 'revoked', id: session })))
}

async function countKeptCalls(db: Database, projectId: string, requester: string): Promise<number> {
  const [row] = await query<{ n: number }>(
    db,
    sql`select count(*)::int as n
      from (
        select 1
        from tool_calls as c
        where c.project_id = ${projectId} and c.requested_by = ${requester} and c.generation_id is null
        limit ${mostCounted}
      ) as counted`,
  )
  return row!.n
}
