/** Webhooks: endpoints that get events, their places in the log, and deliveries that failed. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { count, createdAt, jsonb, moment, projectId, updatedAt, workColumns } from './columns.ts'

export const webhooks = pgTable(
  'webhooks',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    url: text('url').notNull(),
    description: text('description'),
    /** Names of event types; null: all. */
    types: jsonb('types'),
    /** Whether payloads include arguments, masked. */
    full: boolean('full').notNull().default(false),
    /** Whether one event is sent at a time, in the order of the log. */
    ordered: boolean('ordered').notNull().default(false),
    /** The signing secret, encrypted, and the one before it, which signs too until `previousUntil`. */
    secret: text('secret').notNull(),
    previousSecret: text('previous_secret'),
    previousUntil: moment('previous_until'),
    /** ENABLED DISABLED */
    status: text('status').notNull().default('ENABLED'),
    /** BY_REQUEST GONE FAILING BEHIND */
    disabledReason: text('disabled_reason'),
    disabledAt: moment('disabled_at'),
    /** Since when every delivery has failed; null after one that succeeded. */
    failingSince: moment('failing_since'),
    /** Since when the endpoint is taken to be down, as the feed was told; null once it has accepted something. */
    downSince: moment('down_since'),
    /** When the feed was last told that a delivery is dead. */
    deadToldAt: moment('dead_told_at'),
    /** The generation or tool call whose callback this is; null for an endpoint of the project. */
    callbackOf: text('callback_of'),
    /** Who is sent links to decide with, in the messages of questions that allow it: `{principalId, address}` each. */
    recipients: jsonb('recipients'),
    /** Raised by every change of settings, recipients or secret that a request makes. */
    version: integer('version').notNull().default(1),
    createdBy: text('created_by').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    index('webhooks_list').on(t.projectId, t.createdAt, t.id),
    uniqueIndex('webhooks_callback')
      .on(t.callbackOf)
      .where(sql`callback_of is not null`),
  ],
)

/**
 * A place in the log up to which an endpoint has its events: one row with the id of the webhook, and one for each
 * replay. It is the work row of an endpoint: whoever holds it sends.
 */
export const webhookCursors = pgTable(
  'webhook_cursors',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    webhookId: text('webhook_id').notNull(),
    /**
     * IDLE: claimed when there are events after `at`, or a delivery is due at `wake_at`. WORKING: held until `wake_at`.
     * WAITING: nothing is sent before `wake_at`. PAUSED: never claimed.
     */
    status: text('status').notNull().default('IDLE'),
    /** The generation whose log is read instead of the project's feed. */
    generationId: text('generation_id'),
    /** The tool call outside generations whose events are read from the feed. */
    toolCallId: text('tool_call_id'),
    types: jsonb('types'),
    /** A seq in a generation's log, else a position in the feed; `mark` identifies the event there. */
    at: bigint('at', { mode: 'number' }).notNull(),
    mark: jsonb('mark'),
    /** The last position to send; then the row is deleted. Null: without end. */
    until: bigint('until', { mode: 'number' }),
    /** Times in a row that everything sent has failed. */
    failures: integer('failures').notNull().default(0),
    /** Raised when deliveries or the place were changed by a request, so that the holder reads them again. */
    asked: integer('asked').notNull().default(0),
    delivered: count('delivered'),
    lastDeliveredAt: moment('last_delivered_at'),
    createdAt: createdAt(),
    ...workColumns(),
  },
  (t) => [
    index('webhook_cursors_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
    index('webhook_cursors_webhook').on(t.webhookId),
  ],
)

/**
 * Events that an endpoint accepted at once: the newest thousand of each, in places that are used again. No index but the
 * key, because every delivery that succeeds writes here.
 */
export const webhookReceipts = pgTable(
  'webhook_receipts',
  {
    webhookId: text('webhook_id').notNull(),
    slot: integer('slot').notNull(),
    eventId: bigint('event_id', { mode: 'number' }).notNull(),
    type: text('type').notNull(),
    at: moment('at').notNull(),
    /** An Answer of domain/followers. */
    answer: jsonb('answer').notNull(),
  },
  (t) => [primaryKey({ columns: [t.webhookId, t.slot] })],
)

/** An event that an endpoint did not accept at first, or that was asked for again. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    webhookId: text('webhook_id').notNull(),
    /** The cursor whose holder sends it again. */
    cursorId: text('cursor_id').notNull(),
    eventId: bigint('event_id', { mode: 'number' }).notNull(),
    type: text('type').notNull(),
    /** PENDING DELIVERED DEAD */
    status: text('status').notNull(),
    /** How often it has failed since it was sent first or asked for again. */
    tries: integer('tries').notNull(),
    attempts: integer('attempts').notNull(),
    /** The newest answers, an Answer of domain/followers each. */
    answers: jsonb('answers').notNull(),
    /** When it is sent again; null when it is settled, or waits at the place of an ordered endpoint. */
    nextAt: moment('next_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    uniqueIndex('webhook_deliveries_event').on(t.webhookId, t.eventId),
    index('webhook_deliveries_list').on(t.projectId, t.createdAt, t.id),
    index('webhook_deliveries_due')
      .on(t.cursorId, t.nextAt)
      .where(sql`next_at is not null`),
    index('webhook_deliveries_old').on(t.updatedAt),
  ],
)
