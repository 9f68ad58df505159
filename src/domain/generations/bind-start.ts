/** What a start is bound to in the transaction that inserts its run: an earlier run instead of it, or the newest of its thread. */
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'

/**
 * Runs first in the transaction that inserts the run with this id. Returns the run that was started before instead of it,
 * which inserts none; null: there is none.
 */
export type BindStart = (tx: Database, id: string, projectId: string) => Promise<string | null>

/** Another run has come into the thread. Nothing was written. */
export class ThreadMovedOnError extends Error {
  override name = 'ThreadMovedOnError'
}

/**
 * Binds a run as `bind` does, and when that finds no earlier one, proves under the lock of the thread that this run is its
 * newest. Throws ThreadMovedOnError otherwise.
 */
export function followingOnly(newestId: string, bind: BindStart | null): BindStart {
  return async (tx, id, projectId) => {
    const earlier = bind && (await bind(tx, id, projectId))
    if (earlier) return earlier
    const [thread] = await query<{ id: string }>(
      tx,
      sql`select t.id
        from threads as t
        where t.id = (select g.thread_id from generations as g where g.id = ${newestId})
        for update`,
    )
    // A statement of its own: it sees whoever had the lock before.
    const [newest] = await query<{ id: string }>(
      tx,
      sql`select id
        from generations
        where thread_id = ${thread?.id ?? null}
        order by created_at desc, id desc
        limit 1`,
    )
    if (newest?.id !== newestId) throw new ThreadMovedOnError()
    return null
  }
}
