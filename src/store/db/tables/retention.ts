/** Retention: what is removed when, what was removed, and what must not be. */
import { sql } from 'drizzle-orm'
import { bigint, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { count, createdAt, jsonb, moment, projectId, updatedAt, workColumns } from './columns.ts'

/**
 * The retention of a project, a work row: whoever holds it sweeps. Its lock orders removals, legal holds and changes of the
 * settings. A project without a row removes nothing.
 */
export const retentions = pgTable(
  'retentions',
  {
    /** The id of the project. */
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** IDLE SWEEPING */
    status: text('status').notNull().default('IDLE'),
    /** After so many days; null: never. */
    runDays: integer('run_days'),
    eventDays: integer('event_days'),
    fileDays: integer('file_days'),
    deliveryDays: integer('delivery_days'),
    auditDays: integer('audit_days'),
    /** Rows that the sweep under way, or the last one, has removed, by kind: a Removed of domain/retention. */
    lastRemoved: jsonb('last_removed')
      .notNull()
      .default(sql`'{}'::jsonb`),
    /** The same over all sweeps. */
    allRemoved: jsonb('all_removed')
      .notNull()
      .default(sql`'{}'::jsonb`),
    lastStartedAt: moment('last_started_at'),
    lastFinishedAt: moment('last_finished_at'),
    /** When the newest of the runs was created that were removed: figures of before are not complete. */
    removedUntil: moment('removed_until'),
    version: integer('version').notNull().default(1),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    ...workColumns(),
  },
  (t) => [
    index('retentions_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
  ],
)

/** Where the feed of a project begins: it has no events at or before this position. No row: with its first event. */
export const feedStarts = pgTable('feed_starts', {
  projectId: projectId().primaryKey(),
  position: bigint('position', { mode: 'number' }).notNull(),
  /** The EventMark of the removed event at this position: a reader that is right after it has missed nothing. */
  mark: jsonb('mark').notNull(),
  movedAt: moment('moved_at').notNull().defaultNow(),
})

/** What is left of a generation that was removed. */
export const removedGenerations = pgTable(
  'removed_generations',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    agentId: text('agent_id').notNull(),
    requestedBy: text('requested_by').notNull(),
    status: text('status').notNull(),
    stepCount: integer('step_count').notNull(),
    callCount: integer('call_count').notNull(),
    inputTokens: count('input_tokens'),
    outputTokens: count('output_tokens'),
    /** Calls with their approvals, without arguments and results; null where they went by age. A list of CallFact. */
    facts: jsonb('facts'),
    createdAt: moment('created_at').notNull(),
    finishedAt: moment('finished_at').notNull(),
    removedAt: moment('removed_at').notNull().defaultNow(),
  },
  (t) => [index('removed_generations_list').on(t.projectId, t.createdAt, t.id)],
)

/** Blobs whose file is removed: deleted after its commit, by any process. */
export const removedBlobs = pgTable(
  'removed_blobs',
  {
    key: text('key').primaryKey(),
    projectId: projectId(),
    createdAt: createdAt(),
  },
  (t) => [index('removed_blobs_list').on(t.projectId, t.key)],
)

/** Requests to remove what one requester has left. */
export const dataRemovals = pgTable(
  'data_removals',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** Whose data goes. */
    requester: text('requester').notNull(),
    requestedBy: text('requested_by').notNull(),
    reason: text('reason'),
    /** A Removed of domain/retention. */
    removed: jsonb('removed')
      .notNull()
      .default(sql`'{}'::jsonb`),
    /** What stays, and why: a Kept of domain/retention. */
    kept: jsonb('kept'),
    createdAt: createdAt(),
    /** Null while it goes on. */
    finishedAt: moment('finished_at'),
  },
  (t) => [
    index('data_removals_list').on(t.projectId, t.createdAt, t.id),
    uniqueIndex('data_removals_open')
      .on(t.projectId, t.requester)
      .where(sql`finished_at is null`),
  ],
)

/** What must not be removed, whatever the settings say. */
export const legalHolds = pgTable(
  'legal_holds',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The id of the project, of a root generation, or of a requester. */
    target: text('target').notNull(),
    reason: text('reason').notNull(),
    putBy: text('put_by').notNull(),
    createdAt: createdAt(),
    /** Null while it holds. */
    liftedAt: moment('lifted_at'),
    liftedBy: text('lifted_by'),
  },
  (t) => [
    index('legal_holds_list').on(t.projectId, t.createdAt, t.id),
    uniqueIndex('legal_holds_open')
      .on(t.projectId, t.target)
      .where(sql`lifted_at is null`),
  ],
)
