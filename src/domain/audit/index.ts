/** The entry point of the audit log. */
export {
  insertEntries,
  insertEntriesOf,
  readEntries,
  record,
  type AuditEntry,
  type NewAuditEntry,
} from './audit.ts'
