/** The newest position that any project's feed has. */
import { sql } from 'drizzle-orm'

/** A subquery; 0 while no event has a position. Reads the end of the index `events_position`, which is on this expression. */
export const newestPositionOfAll = sql`(select coalesce(max(position + 0), 0) from events where position is not null)`
