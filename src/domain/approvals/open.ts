/** An approval that somebody acts on, beyond a verdict: found with the right to decide it, and refused when it is not open. */
import { AppError } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { denied, reachable, type Ctx } from '../access/index.ts'
import { approvalOf, type Approval } from './approval.ts'
import { assertMayDecide, whatOf } from './read.ts'
import { personsIn, whyNot, type Persons } from './rights.ts'

/** The approval, and the persons behind caller, requester and voters. */
export interface Decidable {
  approval: Approval
  /** By the clock of the database. */
  isLate: boolean
  persons: Persons
}

/**
 * The approval, if the caller may decide it: action `approvals:Decide` on its tool, with the rules of its gate. NOT_FOUND,
 * FORBIDDEN. Whether it is still open is another question.
 */
export async function findDecidable(ctx: Ctx, id: string): Promise<Decidable> {
  const { approval, isLate } = await readNow(ctx, ctx.db, id)
  await assertMayDecide(ctx, approval)
  const persons = await personsIn(ctx.db, ctx, approval)
  const refusal = whyNot(ctx, approval, persons)
  if (refusal) throw await denied(ctx, whatOf(approval), refusal)
  return { approval, isLate, persons }
}

/** The approval as it is at this moment, also after a wait for a lock. NOT_FOUND; checks no permission. */
export async function readNow(
  ctx: Ctx,
  db: Database,
  id: string,
): Promise<{ approval: Approval; isLate: boolean }> {
  const [row] = await selectRows<typeof approvals, { late: boolean }>(
    db,
    approvals,
    sql`where id = ${id}`,
    sql`, expires_at <= clock_timestamp() as late`,
  )
  const { late, ...plain } = reachable(ctx, row, 'approval', id)
  return { approval: approvalOf(plain), isLate: late }
}

/** Throws APPROVAL_EXPIRED, APPROVAL_ALREADY_DECIDED or CONFLICT unless the approval waits for a verdict. */
export function assertOpen(approval: Approval, isLate: boolean): void {
  const { status, votes, voidReason } = approval
  if (status === 'EXPIRED' || (status === 'PENDING' && isLate))
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

export function conflict(approval: Approval, message: string): AppError {
  return new AppError('CONFLICT', message, { conflictingId: approval.id })
}
