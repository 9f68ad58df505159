/** The entry point of the audit log. */
export {
  type AuditEntry,
  insertEntries,
  insertEntriesOf,
  readEntries,
  record,
  auditFilter,
  type AuditFilter,
  type NewAuditEntry,
  committedEntries,
  onEntry,
} from './audit.ts'
