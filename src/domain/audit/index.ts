/** The entry point of the audit log. */
export { insertEntries, readEntries, record, type AuditEntry, type NewAuditEntry } from './audit.ts'
