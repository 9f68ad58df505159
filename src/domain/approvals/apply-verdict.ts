/**
 * Applies one verdict under the owner's lock: checks that the approval is still open, computes the outcome and writes
 * all of it in one statement.
 */
import { invalidAt } from '../../core/errors.ts'
import { hashJson } from '../../core/json.ts'
import type { Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import type { Hint } from '../../store/events/pubsub.ts'
import type { Ctx } from '../access/index.ts'
import { hintsOf } from '../events/index.ts'
import { approvalOf, currentArguments, type Approval, type Vote } from './approval.ts'
import type { Edit, Ready } from './decision.ts'
import { isOutdated } from './drift.ts'
import { insertGrant } from './grants.ts'
import { assertOpen, conflict } from './open.ts'
import { outcomeOf } from './outcome.ts'
import { hasApproved, personsIn, RightsChanged, whyNot } from './rights.ts'
import { voteOf, writeVerdict } from './write-verdict.ts'

/**
 * Applies a verdict. The owner must be locked and the key valid. Returns the approval as written, and the hints to
 * publish after the commit.
 */
export async function applyVerdict(
  tx: Database,
  ctx: Ctx,
  ready: Ready,
): Promise<{ approval: Approval; hints: Hint[] }> {
  const { given, owner, root, lost } = ready
  const [row] = await selectRows<typeof approvals, { late: boolean; nowMs: number }>(
    tx,
    approvals,
    sql`where id = ${ready.approval.id}`,
    sql`, expires_at <= now() as late, (extract(epoch from now()) * 1000)::float8 as "nowMs"`,
  )
  const { late, nowMs, ...plain } = row!
  const approval = approvalOf(plain)
  if (lost && hasVote(approval, lost)) return { approval, hints: hintsOf({ owner }, nothingKnown) }
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
  const vote = voteOf(ctx, given, new Date(nowMs))
  const votes = edit ? [vote] : [...approval.votes, vote]
  const requirement = edit?.requirement ?? approval.requirement
  const outcome = outcomeOf({ ...(await asExecuted(tx, approval)), requirement }, votes)
  const dropped = ready.edit?.dropped ?? []
  const written = await writeVerdict(tx, ctx, { approval, owner, votes, outcome, edit, dropped })
  if (!written) throw conflict(approval, 'The call of this approval does not wait for it any more.')
  if (given.grant && outcome.status !== 'APPROVED')
    throw invalidAt([...root, 'grant'], 'goes with the vote that reaches the quorum')
  const { approval: decided, hints } = written
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

function hasVote({ votes }: Approval, { by, at }: Vote): boolean {
  return votes.some((vote) => vote.by === by && vote.at === at)
}

/** The state of an owner that was changed by a statement without a response: its readers look for themselves. */
const nothingKnown = { seq: null, status: null, rootId: null, rootSeq: null }

/** Sending the current arguments is not an edit; restoring the original ones is. */
function isEdit(edit: Edit | null, approval: Approval): boolean {
  return edit !== null && hashJson(edit.merged) !== hashJson(currentArguments(approval))
}
