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
  auditEntry,
} from './audit.ts'
