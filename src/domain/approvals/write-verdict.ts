/** Writes a verdict that was judged: approval, call, events, wake-up and audit entry in one statement. */
import { query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { assignments } from '../../store/db/rows.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import type { Owner } from '../../store/work/owner.ts'
import { runIsFree } from '../basis/index.ts'
import { entryOf } from '../access/index.ts'
import { insertEntries } from '../audit/index.ts'
import {
  generationResumed,
  hintsOf,
  ownerUpdate,
  type OwnerClaim,
  type UpdatedOwner,
} from '../events/index.ts'
import { approveCall, editCall, editOf, settleCalls } from '../tool-calls/index.ts'
import { resourceOf } from '../tools/index.ts'
import type { Approval } from './approval.ts'
import type { Edit } from './prepare-verdict.ts'
import type { JudgedVerdict, Outcome } from './judge-verdict.ts'
import { searchAfter } from './summary.ts'

/** What a statement needs that is not sent under the owner's lock. */
export interface Proof {
  /** Relations `…, …` that lock what was judged. */
  locks: SQL
  /** A condition over them: all is as it was judged. */
  condition: SQL
  /** Claims the owner, which this verdict wakes, for a worker of this process. */
  claim: OwnerClaim | null
}

export interface WrittenVerdict {
  /** The approval as it is now. */
  approval: Approval
  owner: UpdatedOwner
  hints: Hint[]
}

/** Whose verdict it is, for the audit log. */
type Voter = Parameters<typeof entryOf>[0]

/**
 * Writes the verdict, under the owner's lock or with a proof. Null, with nothing written, when the call does not wait for
 * this approval any more, the proof fails, or a pause holds a call that its client would get.
 */
export async function writeVerdict(
  db: Database,
  ctx: Voter,
  verdict: JudgedVerdict,
  proof: Proof | null = null,
): Promise<WrittenVerdict | null> {
  const { approval, owner, votes, outcome, edit } = verdict
  const claim = proof?.claim ?? null
  const closed =
    outcome.status === 'PENDING' ? {} : { status: outcome.status, settledAt: sql`now()`, wakeAt: null }
  const search = searchAfter(approvalAfter(verdict, null), edit !== null)
  const wake = wakeOf(owner, outcome, claim)
  const changed = changedCall(approval.toolCallId, outcome, edit, wake)
  const isOffered = outcome.call?.status === 'AWAITING_CLIENT'
  const isClaimed = claim !== null && owner.table === 'generations'
  const events = isClaimed ? [...outcome.events, generationResumed({})] : outcome.events
  const update = ownerUpdate(owner, events, outcome.wake, {
    when: sql`a`,
    claim: isClaimed ? claim : null,
  })
  const [written] = await query<UpdatedOwner>(
    db,
    sql`with ${proof ? sql`${proof.locks},` : sql``} a as (
        update approvals as p
        set ${assignments(approvals, { votes, search, ...editedColumns(edit), ...closed })}
        from tool_calls as t
        where p.id = ${approval.id} and p.status = 'PENDING'
          and t.id = p.tool_call_id and t.approval_id = p.id and t.status = 'AWAITING_APPROVAL'
          and ${proof?.condition ?? sql`true`}
          and ${isOffered ? runIsFree(owner.id, [approval.toolId]) : sql`true`}
        returning p.tool_call_id
      ),
      ${changed ? sql`c as (${changed}),` : sql``}
      ${update.parts},
      l as (${insertEntries([entryFor(ctx, verdict)])})
      ${update.result}`,
  )
  if (!written) return null
  const decided = approvalAfter(verdict, new Date(written.now))
  return { approval: decided, owner: written, hints: hintsOf(update, written) }
}

function entryFor(ctx: Voter, { approval, votes, edit, dropped }: JudgedVerdict) {
  return entryOf(ctx, {
    projectId: approval.projectId,
    action: 'approvals:Decide',
    resource: resourceOf(approval.toolId),
    details: {
      approvalId: approval.id,
      toolCallId: approval.toolCallId,
      verdict: votes.at(-1)!.verdict,
      via: votes.at(-1)!.via!,
      ...(votes.at(-1)!.stop ? { stop: true } : {}),
      ...(edit ? { editedKeys: edit.keys } : {}),
      ...(dropped.length > 0 ? { droppedPresetKeys: [...dropped] } : {}),
    },
  })
}

function editedColumns(edit: Edit | null) {
  if (!edit) return {}
  const { merged: editedArguments, digest, masked, requirement } = edit
  return { editedArguments, digest, masked, requirement }
}

/** The approval as the statement writes it. */
function approvalAfter({ approval, votes, outcome, edit }: JudgedVerdict, now: Date | null): Approval {
  const { status } = outcome
  return {
    ...approval,
    ...editedColumns(edit),
    votes,
    status,
    settledAt: status === 'PENDING' ? null : now,
  }
}

/** What becomes of the wake-up of a call that is its own work row, when the verdict lets it run. */
function wakeOf({ table }: Owner, { wake }: Outcome, claim: OwnerClaim | null): 'due' | OwnerClaim | null {
  if (table !== 'tool_calls' || wake !== 'now') return null
  return claim ?? 'due'
}

/** The call whose approval was settled: `a` has its row. */
const isAsked = sql`t.id in (select tool_call_id from a)`

/** The change of the call's row when `a` has a row. */
function changedCall(
  id: string,
  { call }: Outcome,
  edit: Edit | null,
  wake: 'due' | OwnerClaim | null,
): SQL | null {
  if (!call) return edit && editCall(isAsked, edit)
  if (!('result' in call)) return approveCall(isAsked, call.status, { edit, waitMs: call.waitMs, wake })
  const { status, result } = call
  return status === 'SKIPPED'
    ? settleCalls('approve', [{ id, status, result }], isAsked, editOf(edit))
    : settleCalls('reject', [{ id, status, result }], isAsked, editOf(edit))
}
