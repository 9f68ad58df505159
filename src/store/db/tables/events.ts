/** The log of facts: one row serves both the generation's own sequence and the project's feed. */
import { sql } from 'drizzle-orm'
import { bigint, index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, projectId } from './columns.ts'

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
    createdAt: createdAt(),
    /** The transaction's id plus the installation's shift: the feed's order. See store/events/log.ts. */
    commitOrder: bigint('commit_order', { mode: 'number' }).notNull(),
  },
  (t) => [
    uniqueIndex('events_generation')
      .on(t.generationId, t.seq)
      .where(sql`generation_id is not null`),
    index('events_feed').on(t.projectId, t.commitOrder, t.id),
  ],
)
