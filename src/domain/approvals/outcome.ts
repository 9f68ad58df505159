/** The effect of votes on an approval, its call and its owner. Pure. */
import { errorResult, textResult, type ToolResult } from '../../core/content.ts'
import type { Json } from '../../core/json.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import {
  approvalDecided,
  approvalVoted,
  requiresAction,
  toolCallSettled,
  type GenerationEvent,
} from '../events/index.ts'
import type { Approval, ApprovalStatus, Vote } from './approval.ts'

export interface Outcome {
  status: ApprovalStatus
  /**
   * The call's new status; null while votes are missing. `waitMs`: how long the client has for the output, in
   * milliseconds.
   */
  call:
    | { status: 'APPROVED' | 'AWAITING_CLIENT'; waitMs: number | null }
    | { status: 'REJECTED' | 'SKIPPED'; result: ToolResult }
    | null
  events: GenerationEvent[]
  /** When the owner becomes due; null: its wake-up does not change. */
  wake: 'now' | SQL | null
}

/**
 * The outcome of these votes, oldest first. One REJECT settles the approval; APPROVE settles it when the quorum is
 * reached. `response`: the result that the last vote gives the call in place of its tool.
 */
export function outcomeOf(
  approval: Approval,
  votes: readonly Vote[],
  response: ToolResult | null = null,
): Outcome {
  const call = { toolCallId: approval.toolCallId, name: approval.runtimeName }
  const last = votes.at(-1)!
  const facts = {
    ...call,
    approvalId: approval.id,
    verdict: last.verdict,
    decidedBy: last.by,
    via: last.via!,
  }
  if (last.verdict === 'REJECT') {
    const result = response ?? rejectedResult(last.reason)
    return {
      status: 'REJECTED',
      call: { status: 'REJECTED', result },
      events: [approvalDecided(facts), toolCallSettled({ ...call, status: 'REJECTED' })],
      wake: 'now',
    }
  }
  if (votes.length < approval.requirement.quorum)
    return { status: 'PENDING', call: null, events: [approvalVoted(facts)], wake: null }
  return approved(approval, approvalDecided(facts))
}

function approved(approval: Approval, decided: GenerationEvent): Outcome {
  const { toolCallId, runtimeName: name } = approval
  if (approval.onApprove === 'RUN')
    return { status: 'APPROVED', call: { status: 'APPROVED', waitMs: null }, events: [decided], wake: 'now' }
  if (approval.onApprove === 'SKIP') {
    const result = textResult('The generation ended with this step.')
    return {
      status: 'APPROVED',
      call: { status: 'SKIPPED', result },
      events: [decided, toolCallSettled({ toolCallId, name, status: 'SKIPPED' })],
      wake: 'now',
    }
  }
  const waitMs = approval.clientTimeoutMs!
  const until = sql`now() + ${waitMs}::float8 * interval '1 millisecond'`
  return {
    status: 'APPROVED',
    call: { status: 'AWAITING_CLIENT', waitMs },
    events: [decided, requiresAction({ toolCallIds: [toolCallId] })],
    wake: sql`least(wake_at, ${until})`,
  }
}

/**
 * The result for the model when a call is rejected, by a verdict or by a refusal that stands: a message, and the approver's
 * reason if there is one.
 */
export function rejectedResult(reason: string | null, refusedUntil: Date | null = null): ToolResult {
  const because = reason ? ` The reason: ${reason}` : ''
  const denied = refusedUntil
    ? `A person has denied calls like this one until ${refusedUntil.toISOString()}; it was not run. Do not repeat it.`
    : 'A person denied this call; it was not run.'
  return errorResult('approval_rejected', `${denied}${because}`, reason ? { reason } : {})
}

/** The result of a call that a person has answered: the text, marked as a person's words, with its value for a schema. */
export function respondedResult(text: string, structuredContent: Json | null): ToolResult {
  const mark = 'A person answered this call in place of the tool, which was not run:'
  return {
    content: [mark, text].map((one) => ({ type: 'text', text: one })),
    ...(structuredContent === null ? {} : { structuredContent }),
    isError: false,
  }
}

/** The result for the model when the approval expired. */
export const expiredResult = errorResult(
  'approval_expired',
  'Nobody approved this call in time; it was rejected and not run.',
)
