/** The newest position of one project's feed, and of any. */
import { sql, type SQL } from './sql.ts'

/**
 * A subquery; 0 while no event has a position. Reads the end of the index `events_position`, which is on this expression, also
 * where statistics speak of one row: the condition on another column keeps the planner from reading all of an index that has
 * the position without its table.
 */
export const newestPositionOfAll = sql`coalesce((
    select e.position
    from events as e
    where e.position is not null and e.created_at > '-infinity'
    order by e.position + 0 desc
    limit 1
  ), 0)`

/** The newest position in the feed of a project, as an expression; 0 when it has none. Reads the end of an index. */
export function newestPositionOf(projectId: SQL): SQL {
  return sql`coalesce((
    select e.position
    from events as e
    where e.project_id = ${projectId} and e.position is not null
    order by e.position desc
    limit 1
  ), 0)`
}

/**
 * A reader with a filter passes over events that it does not want when this many positions lie behind the newest event,
 * so that the search for the next one that is wanted stays short. Until then its row is not written for them.
 */
export const mostPassed = 5000
