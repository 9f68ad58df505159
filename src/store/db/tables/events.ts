/**
 * The event log, where one row is both an event of its generation and of the feed, and the audit log, whose rows are
 * never changed.
 */
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

/** The audit log: who did what. Rows are inserted and never changed. */
export const auditEntries = pgTable(
  'audit_entries',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The principal, or `system` when the server acted by itself. */
    principalId: text('principal_id').notNull(),
    /** The operation's permission action, such as `tools:Create`. */
    action: text('action').notNull(),
    /** The resource that was acted on, such as `tool/tool_…`. */
    resource: text('resource').notNull(),
    /** ALLOWED, DENIED or EXECUTED. */
    outcome: text('outcome').notNull(),
    details: jsonb('details').notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    index('audit_entries_list').on(t.projectId, t.createdAt, t.id),
    index('audit_entries_by_principal').on(t.projectId, t.principalId, t.createdAt, t.id),
    index('audit_entries_by_action').on(t.projectId, t.action, t.createdAt, t.id),
    index('audit_entries_by_resource').on(t.projectId, t.resource, t.createdAt, t.id),
    index('audit_entries_denied')
      .on(t.projectId, t.createdAt, t.id)
      .where(sql`outcome = 'DENIED'`),
  ],
)
