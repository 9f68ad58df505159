/** The event log: one row is both an event of its generation and an event of the project's feed. */
import { sql } from 'drizzle-orm'
import { bigint, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, jsonb, projectId } from './columns.ts'

export const events = pgTable(
  'events',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    projectId: projectId(),
    generationId: text('generation_id'),
    /** Gapless from 1 for each generation, taken under the generation's row lock. */
    seq: integer('seq'),
    type: text('type').notNull(),
    data: jsonb('data').notNull(),
    /**
     * Who requested the generation, call or approval, or made the file, that the event tells of: the id of a key or person.
     * Null for events of anything else, and for those that the release before has written.
     */
    requestedBy: text('requested_by'),
    createdAt: createdAt(),
    /** The transaction id plus the installation's shift: the order of the feed for replicas of the previous release. */
    commitOrder: bigint('commit_order', { mode: 'number' }).notNull(),
    /** The position in the feed, assigned to committed events only and never changed. See store/events/numbering.ts. */
    position: bigint('position', { mode: 'number' }),
  },
  (t) => [
    uniqueIndex('events_generation')
      .on(t.generationId, t.seq)
      .where(sql`generation_id is not null`),
    index('events_feed').on(t.projectId, t.commitOrder, t.id),
    // Finds the newest event. An expression index, so that the planner never scans it to read one project.
    uniqueIndex('events_position')
      .on(sql`(position + 0)`)
      .where(sql`position is not null`),
    index('events_project_position')
      .on(t.projectId, t.position)
      .where(sql`position is not null`),
    // Events of no generation, for retention.
    index('events_of_project')
      .on(t.projectId, t.position)
      .where(sql`generation_id is null`),
    index('events_unnumbered')
      .on(t.id)
      .where(sql`position is null`),
  ],
)
