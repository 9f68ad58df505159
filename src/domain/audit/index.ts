/** The front door of the audit. */
export { readEntries, record, type AuditEntry, type NewAuditEntry } from './audit.ts'
