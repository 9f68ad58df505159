/** How often something may happen: the limits that were set, and the buckets that replicas share. */
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
    /** What may come at once. */
    burst: integer('burst').notNull(),
    updatedAt: updatedAt(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.scope, t.targetId] })],
)

/** Unlogged (see the migration): after a crash it may be empty, which fills the buckets. */
export const rateBuckets = pgTable('rate_buckets', {
  name: text('name').primaryKey(),
  tokens: doublePrecision('tokens').notNull(),
  /** What the last taking got. */
  granted: doublePrecision('granted').notNull(),
  at: moment('at').notNull(),
})
