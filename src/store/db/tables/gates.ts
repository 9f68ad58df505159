/** Changes of gates that wait for a second person. */
import { index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId } from './columns.ts'

export const gateChanges = pgTable(
  'gate_changes',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The tool or agent whose gate is to change, or the project whose rule about gates is. */
    target: text('target').notNull(),
    /** The version of the tool or agent that was looked at; 0 for a project. Another one voids the change. */
    targetVersion: integer('target_version').notNull(),
    /** What is to be set, as a GateEdit of domain/gates. */
    change: jsonb('change').notNull(),
    note: text('note'),
    /** PENDING CONFIRMED REJECTED. One whose time is over is shown as EXPIRED. */
    status: text('status').notNull().default('PENDING'),
    proposedBy: text('proposed_by').notNull(),
    decidedBy: text('decided_by'),
    decidedAt: moment('decided_at'),
    expiresAt: moment('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (t) => [index('gate_changes_list').on(t.projectId, t.createdAt, t.id)],
)
