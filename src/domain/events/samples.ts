/** One made-up event of each kind, to show what a receiver gets. A kind without one does not compile. */
import { eventKinds, type DeclaredType, type EventData } from './event.ts'

const call = { toolCallId: 'call_1', name: 'pay' }
const approval = { ...call, approvalId: 'apr_1' }
const verdict = { ...approval, verdict: 'APPROVE', decidedBy: 'key_1' } as const
const grant = { grantId: 'grant_1', approvalId: 'apr_1', name: 'pay' }
const gate = { target: 'tool_1', name: 'pay' }

const others: Omit<EventData, DeclaredType> = {
  GENERATION_QUEUED: { agentId: 'agt_1' },
  GENERATION_STARTED: {},
  GENERATION_RESUMED: {},
  STEP_RESET: { stepIndex: 2, attempt: 3, reason: 'MODEL_RATE_LIMITED' },
  MESSAGE_COMMITTED: { stepIndex: 2 },
  TOOL_CALL_PROPOSED: { ...call, stepIndex: 2 },
  TOOL_CALL_STARTED: { ...call, stepIndex: 2, attempt: 1 },
  TOOL_CALL_SETTLED: { ...call, stepIndex: 2, status: 'SUCCEEDED' },
  TOOL_CALL_UNKNOWN: { ...call, stepIndex: 2, reason: 'NO_RESPONSE' },
  REQUIRES_ACTION: { toolCallIds: ['call_1', 'call_2'] },
  APPROVAL_REQUESTED: approval,
  APPROVAL_VOTED: verdict,
  APPROVAL_DECIDED: { ...verdict, verdict: 'REJECT' },
  APPROVAL_EXPIRED: approval,
  APPROVAL_ESCALATED: approval,
  APPROVAL_VOIDED: { ...approval, reason: 'WITHDRAWN' },
  APPROVAL_CLAIMED: { ...approval, claimedBy: 'key_1' },
  APPROVAL_RELEASED: { ...approval, claimedBy: 'key_1' },
  APPROVAL_EXTENDED: { ...approval, extendedBy: 'key_1', expiresAt: '2026-11-22T12:00:00.000Z' },
  CHILD_STARTED: { ...call, childId: 'gen_child', agentId: 'agt_1' },
  CHILD_ENDED: { ...call, childId: 'gen_child', status: 'COMPLETED' },
  GENERATION_COMPLETED: { stopReason: 'END_TURN' },
  GENERATION_FAILED: { code: 'INTERNAL' },
  GENERATION_CANCELLED: {},
  GENERATION_EXPIRED: {},
  SLACK_SET: { integrationId: 'slk_1' },
  SLACK_DELETED: { integrationId: 'slk_1' },
  SLACK_DISABLED: { integrationId: 'slk_1', reason: 'TOKEN_REVOKED' },
  WEBHOOK_CREATED: { webhookId: 'whk_1' },
  WEBHOOK_UPDATED: { webhookId: 'whk_1' },
  WEBHOOK_DELETED: { webhookId: 'whk_1' },
  WEBHOOK_DISABLED: { webhookId: 'whk_1', reason: 'GONE' },
  WEBHOOK_CURSOR_EXPIRED: { webhookId: 'whk_1' },
  WEBHOOK_FAILING: { webhookId: 'whk_1' },
  WEBHOOK_RECOVERED: { webhookId: 'whk_1' },
  WEBHOOK_DELIVERY_DEAD: { webhookId: 'whk_1' },
  UNKNOWN_CALL_RESOLVED: { ...call, outcome: 'FAILED', decidedBy: 'system', late: true },
  GRANT_CREATED: grant,
  GRANT_REVOKED: grant,
  API_KEY_CREATED: { apiKeyId: 'key_1' },
  API_KEY_ACCEPTED: { apiKeyId: 'key_1' },
  API_KEY_REVOKED: { apiKeyId: 'key_1' },
  PROJECT_UPDATED: {},
  RETENTION_CHANGED: { decidedBy: 'key_1' },
  LEGAL_HOLD_PUT: { holdId: 'hold_1', target: 'gen_1', decidedBy: 'key_1' },
  LEGAL_HOLD_LIFTED: { holdId: 'hold_1', target: 'gen_1', decidedBy: 'key_1' },
  DATA_REMOVAL_REQUESTED: { removalId: 'rem_1', requester: 'key_2' },
  DATA_REMOVAL_FINISHED: { removalId: 'rem_1', requester: 'key_2' },
  GATE_CHANGED: { ...gate, decidedBy: 'key_1' },
  GATE_CHANGE_PROPOSED: { ...gate, gateChangeId: 'chg_1', proposedBy: 'key_1' },
  GATE_CHANGE_DECIDED: { ...gate, gateChangeId: 'chg_1', verdict: 'APPROVE', decidedBy: 'key_2' },
}

const declared = Object.values(eventKinds).flatMap((kind) =>
  'told' in kind ? [[kind.type, kind.sample]] : [],
)

/** The data of each kind. The ids are of nothing. */
export const samples = { ...others, ...Object.fromEntries(declared) } as EventData
