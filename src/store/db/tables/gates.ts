/** Changes of gates that a second person must confirm. */
import { index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { createdAt, jsonb, moment, projectId } from './columns.ts'

export const gateChanges = pgTable(
  'gate_changes',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The id of the tool or agent whose gate is changed, or of the project whose rule for gate changes is. */
    target: text('target').notNull(),
    /**
     * The version of the tool or agent when the change was proposed; 0 for a project. Another version voids the change.
     */
    targetVersion: integer('target_version').notNull(),
    /** The new values, a GateEdit of domain/gates. */
    change: jsonb('change').notNull(),
    note: text('note'),
    /** PENDING CONFIRMED REJECTED. A pending change after `expiresAt` is shown as EXPIRED. */
    status: text('status').notNull().default('PENDING'),
    proposedBy: text('proposed_by').notNull(),
    decidedBy: text('decided_by'),
    decidedAt: moment('decided_at'),
    expiresAt: moment('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (t) => [index('gate_changes_list').on(t.projectId, t.createdAt, t.id)],
)
