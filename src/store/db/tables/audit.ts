/** What happened, by whom. Rows are inserted and never changed. */
import { index, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { createdAt, projectId } from './columns.ts'

export const auditEntries = pgTable(
  'audit_entries',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The principal, or `system` for what no principal asked for. */
    principalId: text('principal_id').notNull(),
    /** The operation's permission action, such as `tools:Create`. */
    action: text('action').notNull(),
    /** What it was done to, such as `tool/tool_…`. */
    resource: text('resource').notNull(),
    /** ALLOWED, DENIED or EXECUTED. */
    outcome: text('outcome').notNull(),
    details: jsonb('details').notNull(),
    createdAt: createdAt(),
  },
  (t) => [index('audit_entries_list').on(t.projectId, t.createdAt, t.id)],
)
