/** What an approval is: one stop at the gate, its votes and its outcome. Pure. */
import type { JsonObject } from '../../core/json.ts'
import type { approvals } from '../../store/db/tables/approvals.ts'
import { masked, type Requirement } from '../tools/index.ts'

/** PENDING is open; the others are settled for good. */
export const approvalStatuses = ['PENDING', 'APPROVED', 'REJECTED', 'EXPIRED', 'VOIDED'] as const
export type ApprovalStatus = (typeof approvalStatuses)[number]

export const verdicts = ['APPROVE', 'REJECT'] as const
export type Verdict = (typeof verdicts)[number]

/** VOIDED: the tool was changed or deleted after the question, the generation ended, or the caller withdrew the call. */
export const voidReasons = ['TOOL_CHANGED', 'TOOL_DELETED', 'GENERATION_ENDED', 'WITHDRAWN'] as const
export type VoidReason = (typeof voidReasons)[number]

/** What one person said. */
export interface Vote {
  verdict: Verdict
  /** The key's id and name at that time. */
  by: string
  byName: string
  /** ISO 8601. */
  at: string
  /** The network address it came from. */
  from: string | null
  /** Told to the model when the call is rejected. */
  reason: string | null
  /** For colleagues; the model never sees it. */
  note: string | null
}

/** What follows an approval: the call runs here, is handed to the client, or its arguments are the answer. */
export type OnApprove = 'RUN' | 'CLIENT' | 'SKIP'

export interface Approval {
  id: string
  projectId: string
  toolCallId: string
  generationId: string | null
  agentId: string | null
  threadId: string | null
  toolId: string
  toolVersion: number
  runtimeName: string
  action: string | null
  definitionHash: string | null
  status: ApprovalStatus
  /** The frozen arguments, presets merged in, nothing masked: never to be shown as they are. */
  arguments: JsonObject
  editedArguments: JsonObject | null
  masked: string[][] | null
  digest: string
  requestedBy: string
  requirement: Requirement
  onApprove: OnApprove
  clientTimeoutMs: number | null
  votes: Vote[]
  expiresAt: Date
  escalatedAt: Date | null
  /** When it was decided, expired or voided. */
  settledAt: Date | null
  voidReason: VoidReason | null
  createdAt: Date
}

export function approvalOf(row: typeof approvals.$inferSelect): Approval {
  const { wakeAt: _wakeAt, ...rest } = row
  return rest as Approval
}

/** What runs: the frozen arguments, or what an approver put in their place. Nothing masked. */
export function currentArguments(approval: Approval): JsonObject {
  return approval.editedArguments ?? approval.arguments
}

/** The arguments as people may see them: what will run, or what was asked before an edit. */
export function shownArguments(approval: Approval, which: 'current' | 'original' = 'current'): JsonObject {
  return masked(which === 'current' ? currentArguments(approval) : approval.arguments, approval.masked)
}

/** The vote that settled it, when people did. */
export function decisionOf(approval: Approval): Vote | null {
  const decided = approval.status === 'APPROVED' || approval.status === 'REJECTED'
  return decided ? (approval.votes.at(-1) ?? null) : null
}
