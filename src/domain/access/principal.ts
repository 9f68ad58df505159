/** Who asks. */
import type { Policy } from './policy.ts'

/** The authenticated caller. */
export interface Principal {
  /** The id of the key or of the subject, as in `requestedBy` and in the audit log. */
  id: string
  name: string
  /** The project of an operation whose input names none. */
  projectId: string
  /** An operator's key has access to every project; any other key only to its own. */
  installation: boolean
  /** The built-in role; null for a custom policy. Gates may require a role of the approver. */
  role: string | null
  policy: Policy
  expiresAt: Date | null
  /** False for a key of a program: it may not decide approvals or gate changes. */
  votes: boolean
  /** The one agent to which the key is bound; null: everything that the policy allows. */
  agentId: string | null
  /** The session of the browser that calls; absent for a caller with a key or token. */
  sessionId?: string
}
