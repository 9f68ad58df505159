/** Triggers: what starts runs of an agent by itself, and which run each tick and each message has started. */
import { sql } from 'drizzle-orm'
import { index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId, updatedAt, workColumns } from './columns.ts'

/** A schedule is a work row: whoever holds it starts the run of its tick. */
export const triggers = pgTable(
  'triggers',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    agentId: text('agent_id').notNull(),
    name: text('name').notNull(),
    /** SCHEDULE HOOK */
    kind: text('kind').notNull(),
    /** ENABLED DISABLED */
    status: text('status').notNull().default('ENABLED'),
    /** The prompt of a schedule, the template of a hook. */
    prompt: text('prompt').notNull(),
    /** Five fields, and the IANA time zone in which they are read; null for a hook. */
    cron: text('cron'),
    timeZone: text('time_zone'),
    /** The signing secret of a hook, encrypted, and the one before it, which counts until `previousUntil`. */
    secret: text('secret'),
    previousSecret: text('previous_secret'),
    previousUntil: moment('previous_until'),
    /** Who saved it last: its runs start with the rights that this principal has then. */
    requestedBy: text('requested_by').notNull(),
    /** The next tick; null for a hook, and while it is disabled. */
    nextAt: moment('next_at'),
    lastRunId: text('last_run_id'),
    lastAt: moment('last_at'),
    /** Why the last tick or message started nothing; null when it did. */
    lastError: text('last_error'),
    /** Ticks before the last one at which no server ran. */
    missed: integer('missed').notNull().default(0),
    /** Raised by every change that a request makes. */
    version: integer('version').notNull().default(1),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    ...workColumns(),
  },
  (t) => [
    index('triggers_list').on(t.projectId, t.createdAt, t.id),
    index('triggers_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
  ],
)

/** The run of a tick, of a message or of a request: a key starts one run, whoever sends it and however often. */
export const triggerStarts = pgTable(
  'trigger_starts',
  {
    projectId: projectId(),
    triggerId: text('trigger_id').notNull(),
    key: text('key').notNull(),
    generationId: text('generation_id').notNull(),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.triggerId, t.key] }), index('trigger_starts_old').on(t.at)],
)
