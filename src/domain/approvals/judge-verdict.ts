/** Judges a verdict by the approval as it is: the effect of its votes on the approval, its call and its owner. Pure. */
import { textResult, type ToolResult } from '../../core/content.ts'
import { invalidAt } from '../../core/errors.ts'
import { hashJson } from '../../core/json.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import type { Owner } from '../../store/work/owner.ts'
import type { Ctx } from '../access/index.ts'
import { StaleReadError } from '../basis/index.ts'
import {
  approvalDecided,
  approvalVoted,
  requiresAction,
  toolCallSettled,
  type GenerationEvent,
} from '../events/index.ts'
import {
  type Approval,
  type ApprovalStatus,
  type Vote,
  currentArguments,
  rejectedResult,
} from './approval.ts'
import type { Decision, Edit, PreparedVerdict } from './prepare-verdict.ts'
import { assertOpen, conflict } from './read.ts'
import { hasApproved, whyNot, type Persons } from './rights.ts'

/** A verdict with its effect. */
export interface JudgedVerdict {
  /** As it was before. */
  approval: Approval
  owner: Owner
  /** All votes, with the new one as the last. */
  votes: Vote[]
  outcome: Outcome
  edit: Edit | null
  /** Preset keys that the approver sent; they were dropped. */
  dropped: readonly string[]
}

/** What a verdict is judged by. */
interface Present {
  approval: Approval
  /** The same with what its approval leads to now (see `executedAs`). */
  asExecuted: Approval
  /** Its time was over. */
  late: boolean
  /** Time of the database, in milliseconds since 1970. */
  now: number
  persons: Persons
}

/**
 * The verdict with its effect. Throws what `decideApproval` documents, and StaleReadError when the caller may not decide any
 * more: a denial is audited, which a transaction that ends with it cannot do. Pure.
 */
export function judgeVerdict(
  ctx: Ctx,
  { given, owner, edit: meant, response, root }: PreparedVerdict,
  { approval, asExecuted, late, now, persons }: Present,
): JudgedVerdict {
  assertOpen(approval, late)
  if (whyNot(ctx, approval, persons)) throw new StaleReadError()
  if (given.expectedDigest && given.expectedDigest !== approval.digest)
    throw conflict(
      approval,
      'The arguments were edited since you read them. Read the approval again and decide then.',
    )
  if (ctx.via === 'LINK' && approval.votes.some(({ by, via }) => via === 'LINK' && by === ctx.principal.id))
    throw conflict(approval, 'This code was used already.')
  if (response && !approval.requirement.responses)
    throw invalidAt(
      [...root, 'response'],
      'is not allowed by the gates that stop this call: reject it with a reason, or set `responses` in each of them',
    )
  const edit = isEdit(meant, approval) ? meant : null
  if (given.verdict === 'APPROVE' && !edit && hasApproved(ctx, approval, persons))
    throw conflict(approval, 'The person of this key has approved already; another person must approve, too.')
  const vote = voteOf(ctx, given, new Date(now))
  const votes = edit ? [vote] : [...approval.votes, vote]
  const requirement = edit?.requirement ?? approval.requirement
  const outcome = outcomeOf({ ...asExecuted, requirement }, votes, response)
  return { approval, owner, votes, outcome, edit, dropped: meant?.dropped ?? [] }
}

/** Sending the current arguments is not an edit; restoring the original ones is. */
function isEdit(edit: Edit | null, approval: Approval): boolean {
  return edit !== null && hashJson(edit.merged) !== hashJson(currentArguments(approval))
}

/** The vote of the caller. */
export function voteOf(ctx: Ctx, given: Decision, now: Date): Vote {
  return {
    verdict: given.verdict,
    by: ctx.principal.id,
    byName: ctx.principal.name,
    at: now.toISOString(),
    from: ctx.remoteAddress,
    via: ctx.via ?? (ctx.principal.sessionId === undefined ? 'KEY' : 'SESSION'),
    reason: given.reason || null,
    note: given.note || null,
    ...(given.response ? { response: given.response } : {}),
    ...(given.stop ? { stop: true } : {}),
  }
}

/** Whether the approval has this vote of this statement: a verdict that is given again has another time. */
export function hasVote({ votes }: Approval, { by, at }: Vote): boolean {
  return votes.some((vote) => vote.by === by && vote.at === at)
}

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
    const result = response ?? rejectedResult(last)
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
