/** What a set of votes makes of an approval, its call and whoever waits for it. Pure. */
import { sql, type SQL } from 'drizzle-orm'
import { errorResult, textResult, type ToolResult } from '../../core/content.ts'
import type { NewEvent } from '../../store/events/log.ts'
import type { Approval, ApprovalStatus, Vote } from './approval.ts'
import { factsOf } from './ask.ts'

export interface Outcome {
  status: ApprovalStatus
  /** What becomes of the call; null while votes are missing. `waitMs`: how long the client's output is waited for. */
  call:
    | { status: 'APPROVED' | 'AWAITING_CLIENT'; waitMs: number | null }
    | { status: 'REJECTED' | 'SKIPPED'; result: ToolResult }
    | null
  events: NewEvent[]
  /** When whoever waits must look; null: not because of this. */
  wake: 'now' | SQL | null
}

/** The outcome of these votes, the newest last. One rejection settles; approvals settle when they reach the quorum. */
export function outcomeOf(approval: Approval, votes: readonly Vote[]): Outcome {
  const facts = factsOf(approval.id, { id: approval.toolCallId, runtimeName: approval.runtimeName })
  const { approvalId: _id, ...callFacts } = facts
  const last = votes.at(-1)!
  const told = { ...facts, verdict: last.verdict, decidedBy: last.by }
  if (last.verdict === 'REJECT') {
    const result = rejectedResult(last.reason)
    return {
      status: 'REJECTED',
      call: { status: 'REJECTED', result },
      events: [
        { type: 'APPROVAL_DECIDED', data: told },
        { type: 'TOOL_CALL_SETTLED', data: { ...callFacts, status: 'REJECTED' } },
      ],
      wake: 'now',
    }
  }
  if (votes.length < approval.requirement.quorum)
    return { status: 'PENDING', call: null, events: [{ type: 'APPROVAL_VOTED', data: told }], wake: null }
  return approved(approval, told, callFacts)
}

function approved(approval: Approval, told: NewEvent['data'], callFacts: NewEvent['data']): Outcome {
  const decided: NewEvent = { type: 'APPROVAL_DECIDED', data: told }
  if (approval.onApprove === 'RUN')
    return { status: 'APPROVED', call: { status: 'APPROVED', waitMs: null }, events: [decided], wake: 'now' }
  if (approval.onApprove === 'SKIP') {
    const result = textResult('The generation ended with this step.')
    return {
      status: 'APPROVED',
      call: { status: 'SKIPPED', result },
      events: [decided, { type: 'TOOL_CALL_SETTLED', data: { ...callFacts, status: 'SKIPPED' } }],
      wake: 'now',
    }
  }
  const waitMs = approval.clientTimeoutMs!
  const until = sql`now() + ${waitMs}::float8 * interval '1 millisecond'`
  return {
    status: 'APPROVED',
    call: { status: 'AWAITING_CLIENT', waitMs },
    events: [decided, { type: 'REQUIRES_ACTION', data: { toolCallIds: [approval.toolCallId] } }],
    wake: sql`least(wake_at, ${until})`,
  }
}

/** What the model is told of a rejection (models note: a message and the reason). */
export function rejectedResult(reason: string | null): ToolResult {
  const because = reason ? ` The reason: ${reason}` : ''
  return errorResult(
    'approval_rejected',
    `A person denied this call; it was not run.${because}`,
    reason ? { reason } : {},
  )
}

/** What the model is told when nobody answered. */
export const expiredResult = errorResult(
  'approval_expired',
  'Nobody approved this call in time; it was rejected and not run.',
)
