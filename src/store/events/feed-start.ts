/**
 * Where the feed of a project begins. Events at or before its start are not in the feed, although those of runs that go
 * on are still in the logs of these runs. It moves in the transaction that removes events, so that one snapshot has
 * either the events or the moved start: a reader that would miss some gets CURSOR_EXPIRED.
 */
import { jsonb, query, type Database } from '../db/database.ts'
import { sql, type SQL } from '../db/sql.ts'
import type { EventMark } from './position.ts'

/** The position after which the feed of a project begins, as an expression; 0: with its first event. */
export function startOf(projectId: SQL | string): SQL {
  return sql`coalesce((select position from feed_starts where project_id = ${projectId}), 0)`
}

/** Selects the place of the start with the columns of an event without its data; no row before anything was removed. */
export function startRow(projectId: string, incarnation: SQL, part: number): SQL {
  return sql`select ${part}::int as part, (mark->>'id')::float8 as id, project_id as "projectId",
      null::text as "generationId", null::int as seq, ''::text as type, 'null'::jsonb as data,
      null::text as "requestedBy", (mark->>'createdMs')::float8 as "createdMs", (mark->>'commitOrder')::float8 as "commitOrder",
      position::float8 as position, ${incarnation} as incarnation
    from feed_starts
    where project_id = ${projectId}`
}

/** An event that is removed, and its place in the feed. */
export interface RemovedPlace extends EventMark {
  position: number
}

/** Moves the start up to the newest of the events that the caller's transaction removes. It never moves back. */
export async function moveFeedStart(tx: Database, projectId: string, newest: RemovedPlace): Promise<void> {
  const { position, ...mark } = newest
  await query(
    tx,
    sql`insert into feed_starts (project_id, position, mark)
      values (${projectId}, ${position}::bigint, ${jsonb(mark)})
      on conflict (project_id) do update set
        position = excluded.position,
        mark = excluded.mark,
        moved_at = now()
      where feed_starts.position < excluded.position`,
  )
}
