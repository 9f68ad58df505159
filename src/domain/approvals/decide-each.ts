/** Several verdicts, each with its own outcome. */
import { type AppError, invalidAt, type ErrorCode } from '../../core/errors.ts'
import { asAppError, type Ctx } from '../access/index.ts'
import type { Approval } from './approval.ts'
import { decideApproval, maxBatch, type DecideApprovalInput } from './decide.ts'

/** The outcome of one verdict: the approval after it, or why it was refused. */
export interface DecisionOutcome {
  approvalId: string
  approval: Approval | null
  error: { code: ErrorCode; message: string } | null
}

/**
 * Makes several decisions in their order, each as decideApproval does: one that is refused changes nothing about the
 * others. Throws what ends all of them: UNAUTHENTICATED, and the first error when none of them could have been accepted
 * (FORBIDDEN, NOT_FOUND or INVALID each). After an error of the server the decisions before it count: asking again
 * reports them as decided.
 */
export async function decideEachApproval(
  ctx: Ctx,
  input: { decisions: DecideApprovalInput[] },
): Promise<DecisionOutcome[]> {
  const { decisions } = input
  if (decisions.length === 0 || decisions.length > maxBatch)
    throw invalidAt(['input', 'decisions'], `must have 1 to ${maxBatch} entries`)
  const outcomes: DecisionOutcome[] = []
  const hopeless: AppError[] = []
  for (const [i, one] of decisions.entries()) {
    const { approvalId } = one
    try {
      const path = ['input', 'decisions', String(i)]
      outcomes.push({ approvalId, approval: await decideApproval(ctx, one, path), error: null })
    } catch (error) {
      const known = asAppError(error)
      if (!known || known.code === 'UNAUTHENTICATED' || known.code === 'UNAVAILABLE') throw error
      if (['FORBIDDEN', 'NOT_FOUND', 'INVALID'].includes(known.code)) hopeless.push(known)
      outcomes.push({ approvalId, approval: null, error: { code: known.code, message: known.message } })
    }
  }
  if (hopeless.length === decisions.length) throw hopeless[0]!
  return outcomes
}
