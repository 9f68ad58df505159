/** An entry of the audit log. Pure. */
import type { JsonObject } from '../../core/json.ts'

export const auditOutcomes = ['ALLOWED', 'DENIED', 'EXECUTED'] as const

export interface AuditEntry {
  id: string
  projectId: string
  /** The id of a key or person, or `system`. */
  principalId: string
  /** The operation's permission action. */
  action: string
  /** The resource that was acted on, such as `tool/tool_…`. */
  resource: string
  outcome: (typeof auditOutcomes)[number]
  details: JsonObject
  createdAt: Date
}
