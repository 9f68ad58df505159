/** The entry point of the audit log. */
export { type AuditEntry } from './audit-entry.ts'
export {
  insertEntries,
  insertEntriesOf,
  readEntries,
  record,
  auditFilter,
  type AuditFilter,
  type NewAuditEntry,
} from './audit.ts'
export { committedEntries, onEntry } from './written.ts'
