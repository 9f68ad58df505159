/** The audit log: entries are written in the transaction of the change and never altered. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { choice, idShape, part, idOf } from '../../core/shapes.ts'
import { newId } from '../../core/ids.ts'
import type { Database } from '../../store/db/database.ts'
import { selectRows, fromRecordset, insertSelect, recordset } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { auditEntries } from '../../store/db/tables/events.ts'
import { and, eq } from 'drizzle-orm'
import type { Page } from '../../core/page.ts'
import { createdFields, createdWithin, isOneOf, listPage } from '../../store/db/lists.ts'

/** An entry of the audit log. Pure. */
const auditOutcome = choice('AuditOutcome', 'The outcome of an audited action.', {
  ALLOWED: 'The caller was allowed to do the action.',
  DENIED: 'The caller was refused, and nothing was changed.',
  EXECUTED: 'A tool was run, or the server acted by itself.',
})

export const auditEntry = part(
  'AuditEntry',
  'An entry of the audit: what a caller did or was denied. Entries never change.',
  {
    id: idOf('auditEntry', 'audit entry'),
    principalId: view.principal(
      'principal',
      'The principal that acted.',
      'The id of the API key or person that acted, or "system".',
    ),
    action: view.text('The permission action of the operation, such as tools:Create.'),
    resource: view.text('The resource that the action applied to, such as tool/tool_… of a tool.'),
    outcome: view.text<z.output<typeof auditOutcome>>(
      'The outcome of the action: ALLOWED, DENIED or EXECUTED.',
    ),
    details: view.jsonObject('Further facts about the action, never a secret.'),
    createdAt: view.date('When the action happened.'),
  },
)
export interface AuditEntry extends z.output<typeof auditEntry> {
  projectId: string
}

type Listener = (id: string) => void
const listeners = new Set<Listener>()

/** Calls `listener` with the id of each entry that is about to be written by this process, until the returned function is called. */
export function onEntry(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** The id of a new entry. */
function newEntryId(): string {
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
