/**
 * Applies one verdict under the owner's lock: checks that the approval is still open, computes the outcome and writes
 * all of it in one statement.
 */
import { sql, type SQL } from 'drizzle-orm'
import { AppError, invalidAt } from '../../core/errors.ts'
import { hashJson, type JsonObject } from '../../core/json.ts'
import { query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { assignments } from '../../store/db/write.ts'
import type { Hint } from '../../store/events/pubsub.ts'
import type { Owner } from '../../store/work/owner.ts'
import { entryOf, type Ctx } from '../access/index.ts'
import { resourceOf, type Requirement } from '../tools/index.ts'
import { approveCall, editCall, editOf, settleCalls } from '../tool-calls/index.ts'
import { insertEntries } from '../audit/index.ts'
import { hintsOf, ownerUpdate, type UpdatedOwner } from '../events/index.ts'
import { approvalOf, currentArguments, type Approval, type Verdict, type Vote } from './approval.ts'
import { isOutdated } from './drift.ts'
import { insertGrant, type CheckedGrant } from './grants.ts'
import { outcomeOf, type Outcome } from './outcome.ts'
import { hasApproved, personsIn, RightsChanged, whyNot } from './rights.ts'

/** A validated decision, to be applied under the lock. */
export interface Ready {
  given: Decision
  approval: Approval
  owner: Owner
  edit: Edit | null
  /** Path of the decision in the request, for the paths of INVALID errors. */
  root: string[]
}

/** The arguments with which an approver replaces the current ones. */
export interface Edit {
  /** The arguments without presets, as the model or caller would have sent them. */
  own: JsonObject
  merged: JsonObject
  /** Names of the arguments that differ from those that were asked about. */
  keys: string[]
  /** Preset keys that the approver sent; they were dropped. */
  dropped: string[]
  digest: string
  masked: string[][]
  requirement: Requirement
}

/** The input of one decision, validated. */
export interface Decision {
  approvalId: string
  verdict: Verdict
  reason?: string | null | undefined
  note?: string | null | undefined
  expectedDigest?: string | null | undefined
  grant?: CheckedGrant | null | undefined
}

/**
 * Applies a verdict. The owner must be locked and the key valid. Returns the approval as written, and the hints to
 * publish after the commit.
 */
export async function applyVerdict(
  tx: Database,
  ctx: Ctx,
  ready: Ready,
): Promise<{ approval: Approval; hints: Hint[] }> {
  const { given, root } = ready
  const [row] = await selectRows<typeof approvals, { late: boolean; nowMs: number }>(
    tx,
    approvals,
    sql`where id = ${ready.approval.id}`,
    sql`, expires_at <= now() as late, (extract(epoch from now()) * 1000)::float8 as "nowMs"`,
  )
  const { late, nowMs, ...plain } = row!
  const approval = approvalOf(plain)
  const now = new Date(nowMs)
  assertOpen(approval, late)
  const persons = await personsIn(tx, ctx, approval)
  const refusal = whyNot(ctx, approval, persons)
  if (refusal) throw new RightsChanged(approval, refusal)
  const edit = isEdit(ready.edit, approval) ? ready.edit : null
  const read = given.expectedDigest || (given.verdict === 'APPROVE' ? ready.approval.digest : null)
  if (read && read !== approval.digest)
    throw conflict(
      approval,
      'The arguments were edited since you read them. Read the approval again and decide then.',
    )
  if (given.verdict === 'APPROVE' && !edit && hasApproved(ctx, approval, persons))
    throw conflict(approval, 'The person of this key has approved already; another person must approve, too.')
  const vote = voteOf(ctx, given, now)
  const votes = edit ? [vote] : [...approval.votes, vote]
  const requirement = edit?.requirement ?? approval.requirement
  const outcome = outcomeOf({ ...(await asExecuted(tx, approval)), requirement }, votes)
  const hints = await commitVote(tx, ctx, ready, { approval, votes, outcome, edit })
  if (given.grant && outcome.status !== 'APPROVED')
    throw invalidAt([...root, 'grant'], 'goes with the vote that reaches the quorum')
  const decided = approvalAfter(approval, votes, outcome, edit, now)
  if (given.grant)
    await insertGrant(tx, ctx, approval, currentArguments(decided), given.grant, [...root, 'grant'])
  return { approval: decided, hints }
}

/**
 * The call as it will run: a client tool's arguments are final with this verdict; a call whose tool has drifted goes
 * to the worker first, which asks again.
 */
async function asExecuted(tx: Database, approval: Approval): Promise<Approval> {
  if (approval.onApprove === 'RUN' || !(await isOutdated(tx, approval))) return approval
  return { ...approval, onApprove: 'RUN' }
}

function voteOf(ctx: Ctx, given: Decision, now: Date): Vote {
  return {
    verdict: given.verdict,
    by: ctx.principal.id,
    byName: ctx.principal.name,
    at: now.toISOString(),
    from: ctx.remoteAddress,
    reason: given.reason || null,
    note: given.note || null,
  }
}

/** The approval as the statement writes it. */
function approvalAfter(
  approval: Approval,
  votes: Vote[],
  outcome: Outcome,
  edit: Edit | null,
  now: Date,
): Approval {
  const { status } = outcome
  const { digest, masked, requirement } = edit ?? approval
  const edited = edit ? { editedArguments: edit.merged, digest, masked, requirement } : {}
  return { ...approval, ...edited, votes, status, settledAt: status === 'PENDING' ? null : now }
}

/** Sending the current arguments is not an edit; restoring the original ones is. */
function isEdit(edit: Edit | null, approval: Approval): boolean {
  return edit !== null && hashJson(edit.merged) !== hashJson(currentArguments(approval))
}

function assertOpen(approval: Approval, late: boolean): void {
  const { status, votes, voidReason } = approval
  if (status === 'EXPIRED' || (status === 'PENDING' && late))
    throw new AppError(
      'APPROVAL_EXPIRED',
      `The time for this approval was over at ${approval.expiresAt.toISOString()}; the call was rejected.`,
      { conflictingId: approval.id },
    )
  if (status === 'VOIDED') throw conflict(approval, `This approval was voided (${voidReason ?? ''}).`)
  if (status === 'PENDING') return
  const last = votes.at(-1)
  throw new AppError(
    'APPROVAL_ALREADY_DECIDED',
    `Somebody was faster: ${last?.byName ?? 'another key'} decided ${last?.verdict ?? ''} at ${last?.at ?? ''}.`,
    { conflictingId: approval.id },
  )
}

function conflict(approval: Approval, message: string): AppError {
  return new AppError('CONFLICT', message, { conflictingId: approval.id })
}

interface Written {
  approval: Approval
  votes: Vote[]
  outcome: Outcome
  edit: Edit | null
}

/** Writes approval, call, events, wake-up and audit entry in one statement. */
async function commitVote(
  tx: Database,
  ctx: Ctx,
  { owner, edit: given }: Ready,
  made: Written,
): Promise<Hint[]> {
  const { approval, votes, outcome, edit } = made
  const edited = edit && {
    editedArguments: edit.merged,
    digest: edit.digest,
    masked: edit.masked,
    requirement: edit.requirement,
  }
  const closed =
    outcome.status === 'PENDING' ? {} : { status: outcome.status, settledAt: sql`now()`, wakeAt: null }
  const changed = changedCall(approval.toolCallId, outcome, edit, owner)
  const call = changed ? sql`c as (${changed}),` : sql``
  const entry = entryOf(ctx, {
    projectId: approval.projectId,
    action: 'approvals:Decide',
    resource: resourceOf(approval.toolId),
    details: {
      approvalId: approval.id,
      toolCallId: approval.toolCallId,
      verdict: votes.at(-1)!.verdict,
      ...(edit ? { editedKeys: edit.keys } : {}),
      ...(given?.dropped.length ? { droppedPresetKeys: given.dropped } : {}),
    },
  })
  const update = ownerUpdate(owner, outcome.events, outcome.wake, sql`a`)
  const rows = await query<UpdatedOwner>(
    tx,
    sql`with a as (
        update approvals as p
        set ${assignments(approvals, { votes, ...edited, ...closed })}
        from tool_calls as t
        where p.id = ${approval.id} and p.status = 'PENDING'
          and t.id = p.tool_call_id and t.approval_id = p.id and t.status = 'AWAITING_APPROVAL'
        returning p.tool_call_id
      ),
      ${call}
      ${update.parts},
      l as (${insertEntries([entry])})
      ${update.result}`,
  )
  if (!rows[0]) throw conflict(approval, 'The call of this approval does not wait for it any more.')
  return hintsOf(update, rows[0])
}

/**
 * The change of the call's row when `a` has a row. A call outside any generation is its own work row and is made due
 * here.
 */
function changedCall(id: string, { call, wake }: Outcome, edit: Edit | null, owner: Owner): SQL | null {
  const isAsked = sql`t.id in (select tool_call_id from a)`
  if (!call) return edit && editCall(isAsked, edit)
  if (!('result' in call)) {
    const wakes = owner.table === 'tool_calls' && wake === 'now'
    return approveCall(isAsked, call.status, { edit, waitMs: call.waitMs, wakes })
  }
  const { status, result } = call
  return status === 'SKIPPED'
    ? settleCalls('approve', [{ id, status, result }], isAsked, editOf(edit))
    : settleCalls('reject', [{ id, status, result }], isAsked, editOf(edit))
}
