/** Events of approvals, of grants, and of changes of gates. */
import { z } from 'zod'
import { scalar, withExample } from '../../core/shapes.ts'
import { withRelation } from '../../core/view.ts'
import {
  copiedToRoot,
  event,
  ofRequester,
  projectOnly,
  approvalId,
  deciderField,
  id,
  link,
  name,
  reason,
  target,
  toolCallId,
  verdict,
} from './define.ts'

const approval = { approvalId, toolCallId, name }
const of = { log: copiedToRoot, group: 'approvals', data: approval } as const

/** Decided by the principal that voted last. */
const vote = {
  ...approval,
  verdict,
  decidedBy: deciderField,
  via: scalar('String', z.enum(['KEY', 'SESSION', 'SLACK', 'LINK', 'LOGIN']))
    .describe('How the verdict was given, a VerdictWay; null in events of earlier releases.')
    .optional(),
}

const claim = {
  log: ofRequester,
  group: 'approvals',
  data: {
    ...approval,
    claimedBy: id('The id of the API key or person that made the claim.', 'key_1'),
  },
} as const

export const approvalRequested = event('APPROVAL_REQUESTED', {
  ...of,
  about: 'The gate stopped a tool call until approvers decide.',
})
export const approvalVoted = event('APPROVAL_VOTED', {
  ...of,
  about: 'A person approved a tool call, and the quorum is not reached yet.',
  data: vote,
})
export const approvalDecided = event('APPROVAL_DECIDED', {
  ...of,
  about: 'An approval was decided.',
  data: { ...vote, verdict: withExample(verdict.clone(), 'REJECT') },
})
export const approvalExpired = event('APPROVAL_EXPIRED', {
  ...of,
  about: 'No verdict was given in time, and the call was rejected.',
})
export const approvalEscalated = event('APPROVAL_ESCALATED', {
  ...of,
  about: 'An approval had no verdict for escalateAfterSeconds; from now on, admins may decide too.',
})
export const approvalVoided = event('APPROVAL_VOIDED', {
  ...of,
  about: 'An approval became void. When it can be requested again, an ApprovalRequestedEvent follows.',
  data: {
    ...approval,
    reason: reason(['TOOL_CHANGED', 'TOOL_DELETED', 'GENERATION_ENDED', 'WITHDRAWN'], 'WITHDRAWN'),
  },
})
export const approvalClaimed = event('APPROVAL_CLAIMED', {
  object: 'ApprovalClaim',
  ...claim,
  about:
    'An approver claimed an approval with claimApproval, or renewed the claim; a claim expires without an event.',
})
export const approvalReleased = event('APPROVAL_RELEASED', {
  object: 'ApprovalClaim',
  ...claim,
  about: 'The claim of an approval was given up with releaseApproval.',
})
export const approvalExtended = event('APPROVAL_EXTENDED', {
  ...of,
  about: 'An approval has a later deadline, given by extendApproval.',
  data: {
    ...approval,
    extendedBy: id('The id of the API key or person that gave longer time.', 'key_1'),
    expiresAt: withExample(
      scalar('DateTime', z.string()).describe('The new deadline of the approval.'),
      '2026-11-22T12:00:00.000Z',
    ),
  },
})

const grant = {
  log: ofRequester,
  group: 'gates',
  data: {
    grantId: link('grant_1', {
      as: 'grant',
      entity: 'Grant',
      about: 'The grant as it is now; null when it is hidden from this API key.',
    }),
    approvalId,
    name,
  },
} as const

export const grantCreated = event('GRANT_CREATED', {
  object: 'Grant',
  ...grant,
  about: 'A verdict was remembered as a grant for later calls.',
})
export const grantRevoked = event('GRANT_REVOKED', {
  object: 'Grant',
  ...grant,
  about: 'A grant was revoked.',
})

/** Of a tool, an agent or the project. */
const gate = { target, name }
const gateChangeId = id('The id of the proposed gate change.', 'chg_1')
const ofGates = { log: projectOnly, group: 'gates' } as const

export const gateChanged = event('GATE_CHANGED', {
  ...ofGates,
  about: 'The gate of a tool or agent was changed, or gatesNeedSecond of the project.',
  data: { ...gate, decidedBy: deciderField },
})
export const gateChangeProposed = event('GATE_CHANGE_PROPOSED', {
  ...ofGates,
  about: 'A gate change was proposed and waits for another person to confirm it.',
  data: {
    ...gate,
    gateChangeId,
    proposedBy: withRelation(id('The id of the API key or person that proposed the change.', 'key_1'), {
      as: 'proposer',
      entity: 'Principal',
      about: 'The principal that proposed the change.',
    }),
  },
})
export const gateChangeDecided = event('GATE_CHANGE_DECIDED', {
  ...ofGates,
  about: 'A person confirmed or rejected a proposed gate change.',
  data: { ...gate, gateChangeId, verdict, decidedBy: withExample(deciderField.clone(), 'key_2') },
})
