/** The audit log: who did what. Rows are inserted and never changed. */
import { sql } from 'drizzle-orm'
import { index, pgTable, text } from 'drizzle-orm/pg-core'
import { createdAt, jsonb, projectId } from './columns.ts'

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
