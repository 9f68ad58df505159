/** The audit log: entries are written in the transaction of the change and never altered. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { idShape, part } from '../../core/shapes.ts'
import type { Page } from '../../core/page.ts'
import type { Database } from '../../store/db/database.ts'
import { createdFields, createdWithin, isOneOf, listPage } from '../../store/db/keyset.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { auditEntries } from '../../store/db/tables/audit.ts'
import { fromRecordset, insertSelect, recordset } from '../../store/db/write.ts'
import { auditOutcome, type AuditEntry } from './audit-entry.ts'
import { newEntryId } from './written.ts'

export type NewAuditEntry = Omit<AuditEntry, 'id' | 'createdAt'>

/** Writes an entry. Pass the transaction of the change. */
export async function record(tx: Database, entry: NewAuditEntry): Promise<void> {
  await tx.insert(auditEntries).values({ ...entry, id: newEntryId() })
}

const columnNames = ['id', 'projectId', 'principalId', 'action', 'resource', 'outcome', 'details'] as const

/**
 * Part of a statement with a relation `g` of at most one row: inserts the entries, at least one, when `g` has its row,
 * and nothing when `g` is empty.
 */
export function insertEntries(entries: readonly NewAuditEntry[]): SQL {
  const rows = entries.map((entry) => ({ ...entry, id: newEntryId() }))
  const values = fromRecordset(auditEntries, columnNames)
  return insertSelect(auditEntries, values, sql`g, ${recordset(auditEntries, rows)}`)
}

/** Part of a statement with a relation `g(id)`: inserts each of these entries, at least one, whose row is in `g`. */
export function insertEntriesOf(entries: readonly { of: string; entry: NewAuditEntry }[]): SQL {
  const rows = entries.map(({ of, entry }) => ({ ...entry, id: newEntryId(), row_id: of }))
  const values = fromRecordset(auditEntries, columnNames)
  const relation = recordset(auditEntries, rows, { row_id: 'text' })
  return insertSelect(auditEntries, values, sql`g join ${relation} on x.row_id = g.id`)
}

export const auditFilter = part(
  'AuditFilter',
  'Which entries of the audit are listed: those that match all given fields.',
  {
    action: z.string().nullish().describe('Only entries of this permission action, such as tools:Update.'),
    principalId: idShape(
      'Only entries of the API key or person with this id, or of the server for "system".',
    ).nullish(),
    resource: z
      .string()
      .nullish()
      .describe('Only entries about this resource, such as tool/tool_… of a tool.'),
    outcome: auditOutcome.nullish().describe('Only entries with this outcome.'),
    ...createdFields('entries'),
  },
)
export type AuditFilter = z.output<typeof auditFilter>

/**
 * Entries of a project, newest first, all or those that match the filter. Checks no permission: `listAudit` of
 * domain/access does.
 */
export async function readEntries(
  db: Database,
  projectId: string,
  page: Page,
  { action, principalId, resource, outcome, ...range }: AuditFilter = {},
): Promise<AuditEntry[]> {
  const where = and(
    action ? eq(auditEntries.action, action) : undefined,
    principalId ? eq(auditEntries.principalId, principalId) : undefined,
    resource ? eq(auditEntries.resource, resource) : undefined,
    outcome ? isOneOf(auditEntries.outcome, [outcome]) : undefined,
    createdWithin(auditEntries, range),
  )
  return (await listPage(db, auditEntries, projectId, page, where)) as AuditEntry[]
}
