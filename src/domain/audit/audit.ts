/** What happened, by whom: entries are written in the transaction of the change, and never altered. */
import { newId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import type { Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/keyset.ts'
import { auditEntries } from '../../store/db/tables/audit.ts'

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

/** Entries of a project, newest first. Who may read them is for the room of access to say. */
export async function readEntries(db: Database, projectId: string, page: Page): Promise<AuditEntry[]> {
  return (await listPage(db, auditEntries, projectId, page)) as AuditEntry[]
}
