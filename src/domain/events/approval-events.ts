/** Events of approvals, and of grants. */
import { copiedToRoot, kindsOf, ofRequester } from './define.ts'

/** The approval and its call; `name` is the call's runtime name. */
type ApprovalFacts = { approvalId: string; toolCallId: string; name: string }

/** `decidedBy` is the id of the principal that voted last, `via` how; absent in events of earlier releases. */
type VerdictFacts = ApprovalFacts & {
  verdict: 'APPROVE' | 'REJECT'
  decidedBy: string
  via?: 'KEY' | 'SESSION' | 'SLACK' | 'LINK'
}

/** `claimedBy` is the id of the key or person that says to be deciding. */
type ClaimFacts = ApprovalFacts & { claimedBy: string }

type GrantFacts = { grantId: string; approvalId: string; name: string }

export interface ApprovalEvents {
  APPROVAL_REQUESTED: ApprovalFacts
  APPROVAL_VOTED: VerdictFacts
  APPROVAL_DECIDED: VerdictFacts
  APPROVAL_EXPIRED: ApprovalFacts
  APPROVAL_ESCALATED: ApprovalFacts
  APPROVAL_VOIDED: ApprovalFacts & {
    reason: 'TOOL_CHANGED' | 'TOOL_DELETED' | 'GENERATION_ENDED' | 'WITHDRAWN'
  }
  /** A claim ends by itself, without an event, at the time that it names. */
  APPROVAL_CLAIMED: ClaimFacts
  APPROVAL_RELEASED: ClaimFacts
  /** `expiresAt`: the later deadline, ISO 8601. */
  APPROVAL_EXTENDED: ApprovalFacts & { extendedBy: string; expiresAt: string }
  GRANT_CREATED: GrantFacts
  GRANT_REVOKED: GrantFacts
}

const kind = kindsOf<ApprovalEvents>()

export const approvalRequested = kind('APPROVAL_REQUESTED', copiedToRoot)
export const approvalVoted = kind('APPROVAL_VOTED', copiedToRoot)
export const approvalDecided = kind('APPROVAL_DECIDED', copiedToRoot)
export const approvalExpired = kind('APPROVAL_EXPIRED', copiedToRoot)
export const approvalEscalated = kind('APPROVAL_ESCALATED', copiedToRoot)
export const approvalVoided = kind('APPROVAL_VOIDED', copiedToRoot)
export const approvalClaimed = kind('APPROVAL_CLAIMED', ofRequester)
export const approvalReleased = kind('APPROVAL_RELEASED', ofRequester)
export const approvalExtended = kind('APPROVAL_EXTENDED', copiedToRoot)
export const grantCreated = kind('GRANT_CREATED', ofRequester)
export const grantRevoked = kind('GRANT_REVOKED', ofRequester)
