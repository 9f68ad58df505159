/** The front door of the audit. */
export {
  insertEntries,
  insertEntry,
  readEntries,
  record,
  type AuditEntry,
  type NewAuditEntry,
} from './audit.ts'
