/** Judges a verdict by the approval as it is, and applies it under the owner's lock. */
import { invalidAt } from '../../core/errors.ts'
import { hashJson } from '../../core/json.ts'
import { query, type Database } from '../../store/db/database.ts'
import { StaleReadError, pausesOfRun } from '../basis/index.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import type { Owner } from '../../store/work/owner.ts'
import type { Ctx } from '../access/index.ts'
import { hintsOf } from '../events/index.ts'
import { approvalOf, currentArguments, type Approval, type Vote } from './approval.ts'
import type { Edit, PreparedVerdict } from './decision.ts'
import { isOutdated } from './drift.ts'
import { insertGrant } from './grants.ts'
import { assertOpen, conflict } from './read.ts'
import { outcomeOf } from './outcome.ts'
import { hasApproved, personsIn, whyNot, type Persons } from './rights.ts'
import { voteOf, writeVerdict, type JudgedVerdict } from './write-verdict.ts'

/**
 * Applies a verdict. The owner must be locked and the key valid. Returns the approval as written, and the hints to
 * publish after the commit.
 */
export async function applyVerdict(
  tx: Database,
  ctx: Ctx,
  ready: PreparedVerdict,
): Promise<{ approval: Approval; hints: Hint[] }> {
  const { given, owner, root, lost } = ready
  const [row] = await selectRows<typeof approvals, { late: boolean; now: number }>(
    tx,
    approvals,
    sql`where id = ${ready.approval.id}`,
    sql`, expires_at <= now() as late, (extract(epoch from now()) * 1000)::float8 as now`,
  )
  const { late, now, ...plain } = row!
  const approval = approvalOf(plain)
  if (lost && hasVote(approval, lost)) return { approval, hints: hintsOf({ owner }, nothingKnown) }
  const persons = await personsIn(tx, ctx, approval)
  const asExecuted = await executedAs(tx, approval, owner)
  const verdict = judgeVerdict(ctx, ready, { approval, asExecuted, late, now, persons })
  const written = await writeVerdict(tx, ctx, verdict)
  if (!written && verdict.outcome.call?.status === 'AWAITING_CLIENT') throw new StaleReadError()
  if (!written) throw conflict(approval, 'The call of this approval does not wait for it any more.')
  if (given.grant && verdict.outcome.status === 'PENDING')
    throw invalidAt([...root, 'grant'], 'goes with the vote that reaches the quorum')
  const { approval: decided, hints } = written
  if (given.grant)
    await insertGrant(tx, ctx, decided, currentArguments(decided), given.grant, [...root, 'grant'])
  return { approval: decided, hints }
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

/**
 * The call as it will run: a client tool's arguments are final with this verdict; a call whose tool has drifted goes
 * to the worker first, which asks again, and so does one that a pause keeps from its client.
 */
async function executedAs(tx: Database, approval: Approval, { id }: Owner): Promise<Approval> {
  const { onApprove, toolId } = approval
  if (onApprove === 'RUN') return approval
  const isHeld = onApprove === 'CLIENT' && (await query(tx, pausesOfRun(id, [toolId]))).length > 0
  return isHeld || (await isOutdated(tx, approval)) ? { ...approval, onApprove: 'RUN' } : approval
}

/** Whether the approval has this vote of this statement: a verdict that is given again has another time. */
export function hasVote({ votes }: Approval, { by, at }: Vote): boolean {
  return votes.some((vote) => vote.by === by && vote.at === at)
}

/** The state of an owner that was changed by a statement without a response: its readers look for themselves. */
const nothingKnown = { seq: null, status: null, rootId: null, rootSeq: null }

/** Sending the current arguments is not an edit; restoring the original ones is. */
function isEdit(edit: Edit | null, approval: Approval): boolean {
  return edit !== null && hashJson(edit.merged) !== hashJson(currentArguments(approval))
}
