/**
 * What the first run of a chain (the root) hears of the runs under it: their open questions, as copies in its own log.
 * A copy carries `descendantId`, the run that it happened to; the project's feed leaves copies out.
 */
import { sql, type SQL } from 'drizzle-orm'
import { insertGenerationEvents, type NewEvent } from '../events/log.ts'

const heard = new Set(['REQUIRES_ACTION', 'CHILD_STARTED', 'CHILD_ENDED'])

/** The copies that the root gets of events of this run, in their order. */
export function copiesForRoot(events: readonly NewEvent[], descendantId: string): NewEvent[] {
  return events
    .filter(({ type }) => heard.has(type) || type.startsWith('APPROVAL_'))
    .map(({ type, data }) => ({ type, data: { ...data, descendantId } }))
}

/**
 * Parts of a statement over the relation `g(root_id)`, one row: `r as (…), re as (…)` append the copies to the log of
 * its root. `r` is empty when `g` has no root, or one that has ended. The root must be locked after `g`'s row.
 */
export function tellRoot(copies: NewEvent[]): SQL {
  return sql`r as (update generations as root set last_seq = root.last_seq + ${copies.length}::int from g
      where root.id = g.root_id and root.finished_at is null
      returning root.id, root.project_id, root.last_seq),
    re as (${insertGenerationEvents(copies, sql`r`)})`
}
