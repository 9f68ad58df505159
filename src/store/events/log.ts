/**
 * Writes the append-only log of events, each in the transaction of the change that it reports. Ids follow the order
 * of the events of a generation and of a statement, because positions are given out in the order of ids.
 */
import type { JsonObject } from '../../core/json.ts'
import { query, type Database, jsonb } from '../db/database.ts'
import { sql, type SQL } from '../db/sql.ts'

/** An event to be written. The names are declared in domain/events. */
export interface NewEvent {
  type: string
  data: JsonObject
  /** Whose the thing is that it tells of. Of an event of a generation, the row of that says it. */
  requestedBy?: string | null
}

/**
 * The feed's order for replicas of the release before, which still read by it. Ours is `position`, which a committed
 * event gets afterwards (numbering.ts).
 */
const shift = sql`(select commit_shift::bigint from installation)`
const commitOrder = sql`pg_current_xact_id()::text::bigint + ${shift}`

/**
 * The tail of a statement `with g as (update generations … returning id, project_id, requested_by, last_seq)`: inserts the
 * events of `g` with the numbers that the update took (`last_seq` has been raised by `events.length`). Nothing when `g` is
 * empty. `relation` is another name than `g`.
 */
export function insertGenerationEvents(events: readonly NewEvent[], relation: SQL = sql`g`): SQL {
  return sql`insert into events (project_id, generation_id, seq, type, data, requested_by, commit_order)
    select g.project_id, g.id, g.last_seq - ${events.length}::int + e.n, e.type, e.data, g.requested_by, ${commitOrder}
    from ${relation} as g, jsonb_to_recordset(${numbered(events)}) as e(n int, type text, data jsonb)
    order by g.id, e.n`
}

/** The tail of a statement: inserts the rows (project_id, generation_id, seq, type, data, requested_by), in their order. */
export function insertEvents(rows: SQL): SQL {
  return sql`insert into events (project_id, generation_id, seq, type, data, requested_by, commit_order)
    select f.project_id, f.generation_id, f.seq, f.type, f.data, f.requested_by, ${commitOrder}
    from (select r.*, row_number() over () as n from (${rows}) as r) as f
    order by f.generation_id, f.seq, f.n`
}

/** Appends events that belong to a project and to no generation. Call it inside the transaction of the change. */
export async function appendProjectEvents(
  db: Database,
  projectId: string,
  events: readonly NewEvent[],
): Promise<void> {
  await query(db, insertProjectEvents(projectId, events))
}

/** The same as a part of a larger statement. Nothing when `when`, a relation of at most one row, is empty. */
export function insertProjectEvents(
  projectId: string,
  events: readonly NewEvent[],
  when: SQL | null = null,
): SQL {
  return sql`insert into events (project_id, type, data, requested_by, commit_order)
    select ${projectId}::text, e.type, e.data, e.requested_by, ${commitOrder}
    from jsonb_to_recordset(${numbered(events)}) as e(n int, type text, data jsonb, requested_by text)
    where ${when ? sql`exists (select 1 from ${when})` : sql`true`}
    order by e.n`
}

function numbered(events: readonly NewEvent[]): SQL {
  return jsonb(
    events.map(({ type, data, requestedBy }, i) => ({
      n: i + 1,
      type,
      data,
      ...(requestedBy ? { requested_by: requestedBy } : {}),
    })),
  )
}
