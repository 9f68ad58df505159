/** Deciding approvals: the first verdict wins, exactly once, despite concurrent verdicts and crashes. */
import { invalidAt } from '../../core/errors.ts'
import { atomically, query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import { lockOwners, type Owner } from '../../store/work/owner.ts'
import { assertStillValid, operation, type Ctx } from '../access/index.ts'
import { pausesOfRun, StaleReadError, withProof } from '../basis/index.ts'
import { hintsOf } from '../events/index.ts'
import { approvalOf, approvalPayload, currentArguments, type Approval } from './approval.ts'
import { isOutdated } from './drift.ts'
import { decideAtOnce } from './fast-verdict.ts'
import { insertGrant } from './grants.ts'
import { hasVote, judgeVerdict } from './judge-verdict.ts'
import {
  decision,
  prepareVerdict,
  type DecideApprovalInput,
  type PreparedVerdict,
} from './prepare-verdict.ts'
import { conflict } from './read.ts'
import { personsIn } from './rights.ts'
import { endWhatAsked } from './stop.ts'
import { writeVerdict } from './write-verdict.ts'

/** The most decisions of one request. */
export const maxBatch = 50

export const refuses = [
  'NOT_FOUND',
  'APPROVAL_ALREADY_DECIDED',
  'APPROVAL_EXPIRED',
  'CONFLICT',
  'LIMITED',
] as const

/**
 * Gives a verdict. Action `approvals:Decide` on the tool, or on the agent when the call asks one. The gate may
 * require a role, or somebody other than the requester. APPROVE with `arguments` edits them: they are validated, the
 * presets are merged in and the gates are evaluated again, which may then require more; a mask means the value that
 * it hides. Invalid arguments are INVALID and leave the approval pending. One REJECT settles the approval; APPROVE
 * settles it when the quorum is reached; an edit discards earlier votes. REJECT with a `response`, where the gates allow it,
 * settles the call with that text in place of the tool's result; with a `grant` it also refuses later calls, and with `stop` it
 * ends what asked, which for a run needs the action `generations:Cancel`. Verdict, call,
 * event, audit entry, grant, end and the owner's wake-up are written in one transaction. A verdict counts for the arguments that its author read, and
 * with the rights that its author has when it is written: key, roles and digest are checked again under the lock.
 * Errors: APPROVAL_ALREADY_DECIDED and APPROVAL_EXPIRED for a later verdict. CONFLICT for a second vote of the same
 * person, with any key that this person holds or has created; for a voided approval; and when `expectedDigest` (for
 * an APPROVE without it: the digest at the beginning of the request) is no longer the current digest, and for an APPROVE
 * without it of arguments that were edited since they were first asked about. A REJECT
 * without `expectedDigest` applies to any edit.
 */
export async function giveVerdict(
  ctx: Ctx,
  input: DecideApprovalInput,
  root: string[] = ['input'],
): Promise<Approval> {
  const [decided] = await decideAll(ctx, [await prepareVerdict(ctx, input, root, true)])
  return decided!
}

/** See giveVerdict. */
export const decideApproval = operation({
  name: 'decideApproval',
  does:
    'Gives a verdict about an approval. The first deciding verdict wins; later ones return ApprovalAlreadyDecidedError or ' +
    'ApprovalExpiredError.',
  permission: 'approvals:Decide',
  input: decision,
  payload: approvalPayload,
  refuses,
  checksItself: true,
  run: async (ctx, input) => ({ approval: await giveVerdict(ctx, input) }),
})

/** Gives several verdicts, all or none: the error of the first that fails names its index. Returns the approvals in their order. */
export async function giveAllVerdicts(
  ctx: Ctx,
  decisions: readonly DecideApprovalInput[],
): Promise<Approval[]> {
  const ready: PreparedVerdict[] = []
  for (const [i, one] of decisions.entries()) {
    const path = ['input', 'decisions', String(i)]
    const verdict = await prepareVerdict(ctx, one, path)
    if (ready.some((other) => other.approval.id === verdict.approval.id))
      throw invalidAt([...path, 'approvalId'], 'is in this batch twice')
    ready.push(verdict)
  }
  return decideAll(ctx, ready)
}

/** What was prepared is judged again under the owners' locks, and prepared again when the rights of the caller have changed. */
function decideAll(ctx: Ctx, prepared: PreparedVerdict[]): Promise<Approval[]> {
  const underLock = (ready: PreparedVerdict[]) => decideUnderLock(ctx, ready)
  return withProof({
    remembered: prepared,
    read: () => prepareAgain(ctx, prepared),
    judge: async (ready) => ready,
    write: async (ready) => {
      const fast = ready === prepared ? await decideAtOnce(ctx, ready, underLock) : null
      return fast ? [fast] : underLock(ready)
    },
  })
}

async function prepareAgain(ctx: Ctx, ready: PreparedVerdict[]): Promise<PreparedVerdict[]> {
  const again: PreparedVerdict[] = []
  for (const { given, root } of ready) again.push(await prepareVerdict(ctx, given, root))
  return again
}

async function decideUnderLock(ctx: Ctx, ready: PreparedVerdict[]): Promise<Approval[]> {
  const done = await atomically(ctx.db, async (tx) => {
    await lockOwners(
      tx,
      ready.flatMap((one) => [one.owner, ...one.ends]),
    )
    await assertStillValid(tx, ctx.principal)
    const hints: Hint[] = []
    const decided: Approval[] = []
    for (const one of ready) {
      const made = await applyVerdict(tx, ctx, one)
      hints.push(...made.hints)
      decided.push(made.approval)
    }
    return { decided, hints }
  })
  ctx.pubsub.publish(done.hints)
  return done.decided
}

/**
 * Applies a verdict. The owner must be locked and the key valid. Returns the approval as written, and the hints to
 * publish after the commit.
 */
async function applyVerdict(
  tx: Database,
  ctx: Ctx,
  ready: PreparedVerdict,
): Promise<{ approval: Approval; hints: Hint[] }> {
  const { given, owner, ends, root, lost } = ready
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
  const ended = given.stop ? await endWhatAsked(tx, ctx, decided, ends, root) : []
  return { approval: decided, hints: [...hints, ...ended] }
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

/** The state of an owner that was changed by a statement without a response: its readers look for themselves. */
const nothingKnown = { seq: null, status: null, rootId: null, rootSeq: null }
