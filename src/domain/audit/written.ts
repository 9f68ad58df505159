/** The ids of entries that this process has put into statements: whether they were committed, only their rows say. */
import { newId } from '../../core/ids.ts'
import type { Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { auditEntries } from '../../store/db/tables/audit.ts'
import type { AuditEntry } from './audit-entry.ts'

type Listener = (id: string) => void
const listeners = new Set<Listener>()

/** Calls `listener` with the id of each entry that is about to be written by this process, until the returned function is called. */
export function onEntry(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** The id of a new entry. */
export function newEntryId(): string {
  const id = newId('auditEntry')
  for (const tell of listeners) tell(id)
  return id
}

/** Those of the entries that are committed, oldest first. Checks no permission. */
export async function committedEntries(db: Database, ids: readonly string[]): Promise<AuditEntry[]> {
  if (ids.length === 0) return []
  const rows = await selectRows(db, auditEntries, sql`where id in ${[...ids]} order by created_at, id`)
  return rows as AuditEntry[]
}
