/** The entry point of the audit log. */
export {
  auditOutcomes,
  insertEntries,
  insertEntriesOf,
  readEntries,
  record,
  type AuditEntry,
  type AuditFilter,
  type NewAuditEntry,
} from './audit.ts'
