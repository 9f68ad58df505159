/** What happened, by whom: entries are written in the transaction of the change, and never altered. */
import { sql, type SQL } from 'drizzle-orm'
import { newId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import type { Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/keyset.ts'
import { auditEntries } from '../../store/db/tables/audit.ts'
import { fromRecordset, insertSelect, recordset } from '../../store/db/write.ts'

export interface AuditEntry {
  id: string
  projectId: string
  /** A key's id, or `system`. */
  principalId: string
  /** The operation's permission action. */
  action: string
  /** What it was done to, such as `tool/tool_…`. */
  resource: string
  outcome: 'ALLOWED' | 'DENIED' | 'EXECUTED'
  details: JsonObject
  createdAt: Date
}

export type NewAuditEntry = Omit<AuditEntry, 'id' | 'createdAt'>

/** Writes an entry. Pass the transaction of the change it tells of. */
export async function record(tx: Database, entry: NewAuditEntry): Promise<void> {
  await tx.insert(auditEntries).values({ ...entry, id: newId('auditEntry') })
}

/** Part of a statement with a relation `g`: writes the entries when it has its one row, and nothing when it is empty. */
export function insertEntries(entries: readonly NewAuditEntry[]): SQL {
  const rows = entries.map(({ projectId, principalId, action, resource, outcome, details }) => ({
    id: newId('auditEntry'),
    projectId,
    principalId,
    action,
    resource,
    outcome,
    details,
  }))
  const names = Object.keys(rows[0]!) as (keyof (typeof rows)[0])[]
  return insertSelect(
    auditEntries,
    fromRecordset(auditEntries, names),
    sql`g, ${recordset(auditEntries, rows)}`,
  )
}

/** Entries of a project, newest first. Who may read them is for the room of access to say. */
export async function readEntries(db: Database, projectId: string, page: Page): Promise<AuditEntry[]> {
  return (await listPage(db, auditEntries, projectId, page)) as AuditEntry[]
}
