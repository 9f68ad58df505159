/** An entry of the audit log. Pure. */
import type { z } from 'zod'
import { choice } from '../../core/shapes.ts'
import type { JsonObject } from '../../core/json.ts'

export const auditOutcome = choice('AuditOutcome', 'The outcome of an audited action.', {
  ALLOWED: 'The caller was allowed to do the action.',
  DENIED: 'The caller was refused, and nothing was changed.',
  EXECUTED: 'A tool was run, or the server acted by itself.',
})

export interface AuditEntry {
  id: string
  projectId: string
  /** The id of a key or person, or `system`. */
  principalId: string
  /** The operation's permission action. */
  action: string
  /** The resource that was acted on, such as `tool/tool_…`. */
  resource: string
  outcome: z.output<typeof auditOutcome>
  details: JsonObject
  createdAt: Date
}
