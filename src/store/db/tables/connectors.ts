/** Connectors with the messages on their way to them, and what MCP sessions have set. */
import { index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId } from './columns.ts'

/** A connector that is connected, or was. */
export const connectors = pgTable(
  'connectors',
  {
    projectId: projectId(),
    name: text('name').notNull(),
    /** Names the process that has the connector: of two with the same name only one is served. */
    instance: text('instance').notNull(),
    /** When this process connected. */
    connectedAt: moment('connected_at').notNull().defaultNow(),
    /** When it asked for messages last. */
    seenAt: moment('seen_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.name] })],
)

/** A JSON-RPC message on its way to a connector and, for a request, its answer. Whoever sent it deletes it. */
export const connectorMessages = pgTable(
  'connector_messages',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    connector: text('connector').notNull(),
    /** As JSON text. */
    message: text('message').notNull(),
    /** A message that nobody has taken by then is never given out. */
    takeBy: moment('take_by').notNull(),
    takenAt: moment('taken_at'),
    /** The instance that took it. */
    takenBy: text('taken_by'),
    /** The result or error as JSON text. */
    answer: text('answer'),
    createdAt: createdAt(),
  },
  (t) => [
    index('connector_messages_of').on(t.projectId, t.connector, t.createdAt),
    index('connector_messages_age').on(t.createdAt),
  ],
)

/** What MCP sessions have set: resource subscriptions and levels of logs. The sessions themselves are sealed tokens and have no rows. */
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
