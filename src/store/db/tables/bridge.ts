/** What MCP sessions have set: resource subscriptions and levels of logs. The sessions themselves are sealed tokens and have no rows. */
import { index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId } from './columns.ts'

export const resourceSubscriptions = pgTable(
  'resource_subscriptions',
  {
    /** The session's thread. */
    threadId: text('thread_id').notNull(),
    uri: text('uri').notNull(),
    projectId: projectId(),
    createdAt: createdAt(),
    /** When the session ends. */
    expiresAt: moment('expires_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.threadId, t.uri] }),
    index('resource_subscriptions_expires').on(t.expiresAt),
  ],
)

export const sessionLogLevels = pgTable(
  'session_log_levels',
  {
    /** The session's thread. */
    threadId: text('thread_id').primaryKey(),
    projectId: projectId(),
    /** The least severe level that the client wants. */
    level: text('level').notNull(),
    createdAt: createdAt(),
    /** When the session ends. */
    expiresAt: moment('expires_at').notNull(),
  },
  (t) => [index('session_log_levels_expires').on(t.expiresAt)],
)
