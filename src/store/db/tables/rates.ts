/** Rate limits, and the token buckets that replicas share. */
import { doublePrecision, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { moment, projectId, updatedAt } from './columns.ts'

export const rateLimits = pgTable(
  'rate_limits',
  {
    projectId: projectId(),
    /** PROJECT KEY AGENT TOOL. */
    scope: text('scope').notNull(),
    /** The id of the project, key, agent or tool. */
    targetId: text('target_id').notNull(),
    perMinute: integer('per_minute').notNull(),
    /** How many requests may come at once. */
    burst: integer('burst').notNull(),
    updatedAt: updatedAt(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.scope, t.targetId] })],
)

/** Unlogged (see the migration): after a crash it may be empty, which refills every bucket. */
export const rateBuckets = pgTable('rate_buckets', {
  name: text('name').primaryKey(),
  tokens: doublePrecision('tokens').notNull(),
  /** The tokens that the last take got. */
  granted: doublePrecision('granted').notNull(),
  at: moment('at').notNull(),
  /** When it is full again, as one that has no row is. The release before writes none. */
  fullAt: moment('full_at'),
})
