/** Longer time for a question: a later deadline, written under the lock of the owner like a verdict. */
import { idOf } from '../../core/shapes.ts'
import { z } from 'zod'
import { invalidAt } from '../../core/errors.ts'
import { atomically, query, type Database } from '../../store/db/database.ts'
import { StaleReadError, withProof } from '../basis/index.ts'
import { sql } from '../../store/db/sql.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import { lockOwners, ownerOf, type Owner } from '../../store/work/owner.ts'
import { assertStillValid, denialError, entryOf, operation, type Ctx } from '../access/index.ts'
import { insertEntries } from '../audit/index.ts'
import { approvalExtended, hintsOf, ownerUpdate, type UpdatedOwner } from '../events/index.ts'
import { approvalPayload, type Approval } from './approval.ts'
import { assertOpen, conflict, findDecidable, readNow, type Decidable, whatOf } from './read.ts'
import { hasRequested, personsIn, whyNot, type Persons } from './rights.ts'

/** The latest deadline, counted from the question: as long as a gate may allow at most. */
const longestMs = 7 * 24 * 3_600_000

/** The latest deadline that an approval can get. */
export function extendableUntil({ createdAt, expiresAt }: Pick<Approval, 'createdAt' | 'expiresAt'>): Date {
  return new Date(Math.max(createdAt.getTime() + longestMs, expiresAt.getTime()))
}

/**
 * With the rules of its gate. A repeat changes nothing, and of two extensions the longer one holds. Approval, event and audit
 * entry are written in one statement, under the owner's lock and with the rights of that moment. INVALID for an `until` that is
 * too late; CONFLICT for a voided approval.
 */
export const extendApproval = operation({
  name: 'extendApproval',
  does:
    'Sets a later deadline of a pending approval; not for the person who requested the call. A deadline that is later already ' +
    'stays, and an escalation keeps its time.',
  permission: 'approvals:Decide',
  input: z
    .object({
      approvalId: idOf('approval'),
      until: z.date().describe('The new deadline, at most 7 days after the approval was requested.'),
    })
    .describe('A later deadline for an approval.'),
  payload: approvalPayload,
  refuses: ['NOT_FOUND', 'APPROVAL_ALREADY_DECIDED', 'APPROVAL_EXPIRED', 'CONFLICT'],
  async run(ctx, { approvalId, until }) {
    const done = await withProof({
      remembered: null,
      read: () => findDecidable(ctx, approvalId),
      judge: (found) => mayExtend(ctx, found, until),
      write: (approval) =>
        isNoLonger(approval, until) ? unchanged(approval) : extendUnderLock(ctx, approval, until),
    })
    ctx.pubsub.publish(done.hints)
    return { approval: done.approval }
  },
})

/** The approval, if the caller may give it time until then. */
async function mayExtend(ctx: Ctx, { approval, isLate, persons }: Decidable, until: Date): Promise<Approval> {
  assertOpen(approval, isLate)
  if (isNoLonger(approval, until)) return approval
  const refusal = whyNotExtend(ctx, approval, persons)
  if (refusal) throw await denialError(ctx, whatOf(approval), refusal)
  const latest = extendableUntil(approval)
  if (until.getTime() > latest.getTime())
    throw invalidAt(['input', 'until'], `must be at ${latest.toISOString()} at the latest`)
  return approval
}

const unchanged = async (approval: Approval): Promise<Extended> => ({ approval, hints: [] })

interface Extended {
  approval: Approval
  hints: Hint[]
}

function extendUnderLock(ctx: Ctx, approval: Approval, until: Date): Promise<Extended> {
  const owner = ownerOf({ ...approval, id: approval.toolCallId })
  return atomically(ctx.db, async (tx) => {
    await lockOwners(tx, [owner])
    await assertStillValid(tx, ctx.principal)
    return extendLocked(tx, ctx, owner, approval.id, until)
  })
}

/** Whether the deadline is there already. */
const isNoLonger = ({ expiresAt }: Approval, until: Date) => until.getTime() <= expiresAt.getTime()

/** Why this caller may not give an approval longer time, beyond the right to decide it. Pure. */
function whyNotExtend(
  { principal }: Pick<Ctx, 'principal'>,
  approval: Approval,
  persons: Persons,
): string | null {
  return hasRequested(principal.id, approval, persons)
    ? 'Whoever requested the call cannot give it longer time: another person must.'
    : null
}

async function extendLocked(
  tx: Database,
  ctx: Ctx,
  owner: Owner,
  approvalId: string,
  until: Date,
): Promise<Extended> {
  const { approval, isLate } = await readNow(ctx, tx, approvalId)
  assertOpen(approval, isLate)
  const persons = await personsIn(tx, ctx, approval)
  // A denial is audited, which a transaction that ends with it cannot do.
  if (whyNot(ctx, approval, persons)) throw new StaleReadError()
  if (isNoLonger(approval, until)) return { approval, hints: [] }
  const end = sql`${until.toISOString()}::timestamptz`
  const { toolCallId, runtimeName: name } = approval
  const event = approvalExtended({
    approvalId,
    toolCallId,
    name,
    extendedBy: ctx.principal.id,
    expiresAt: until.toISOString(),
  })
  const update = ownerUpdate(owner, [event], null, { when: sql`a` })
  const details = { approvalId, toolCallId, expiresAt: until.toISOString() }
  const [written] = await query<UpdatedOwner>(
    tx,
    // The row is due at its escalation, which stays, or else at the deadline.
    sql`with a as (
        update approvals as p
        set expires_at = ${end}, wake_at = case when p.wake_at < p.expires_at then p.wake_at else ${end} end
        where p.id = ${approvalId} and p.status = 'PENDING' and p.expires_at > clock_timestamp()
        returning p.id
      ),
      ${update.parts},
      l as (${insertEntries([entryOf(ctx, { ...whatOf(approval), details })])})
      ${update.result}`,
  )
  if (!written) {
    assertOpen(approval, true)
    throw conflict(approval, 'The call of this approval does not wait for it any more.')
  }
  return { approval: { ...approval, expiresAt: until }, hints: hintsOf(update, written) }
}
