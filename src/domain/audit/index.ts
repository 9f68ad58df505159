/** The front door of the audit. */
export { insertEntries, readEntries, record, type AuditEntry, type NewAuditEntry } from './audit.ts'
