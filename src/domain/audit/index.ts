/** The front door of the audit. */
export { insertEntry, readEntries, record, type AuditEntry, type NewAuditEntry } from './audit.ts'
