/** Pauses: what was stopped by a person, and by whom it was let go on. */
import { sql } from 'drizzle-orm'
import { index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId } from './columns.ts'

export const pauses = pgTable(
  'pauses',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The id of the project, of one of its agents or of one of its tools. */
    target: text('target').notNull(),
    /** What it was called then. */
    targetName: text('target_name').notNull(),
    reason: text('reason'),
    pausedBy: text('paused_by').notNull(),
    createdAt: createdAt(),
    /** Null while it holds. */
    endedAt: moment('ended_at'),
    endedBy: text('ended_by'),
  },
  (t) => [
    // At most one holds for a target. Nearly always empty: what asks whether anything is paused reads this.
    uniqueIndex('pauses_open')
      .on(t.target)
      .where(sql`ended_at is null`),
    index('pauses_list').on(t.projectId, t.createdAt, t.id),
  ],
)
