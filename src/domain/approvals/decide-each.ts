/** Several verdicts, each with its own outcome. */
import { z } from 'zod'
import type { AppError, ErrorCode } from '../../core/errors.ts'
import { entity, idShape, optional, part, reference, uncheckedPart } from '../../core/shapes.ts'
import { asAppError, operation, type Ctx } from '../access/index.ts'
import type { Approval } from './approval.ts'
import { giveAllVerdicts, giveVerdict, maxBatch, refuses } from './decide.ts'
import { decision, type DecideApprovalInput } from './prepare-verdict.ts'

const decisionOutcome = part('DecisionOutcome', 'The outcome of one verdict.', {
  approvalId: idShape('The id of the approval, as in the input.'),
  approval: reference<Approval>()('Approval')
    .nullable()
    .describe('The approval as it is now; null when it does not exist for this API key.'),
  error: entity<{ code: ErrorCode; message: string }>()('ItemError')
    .nullable()
    .describe('The reason for which the verdict was refused; null when it was accepted.'),
})
type DecisionOutcome = z.output<typeof decisionOutcome>

/**
 * In their order, each as decideApproval does. Unless they are atomic, one that is refused changes nothing about the others. Throws
 * what ends all of them: UNAUTHENTICATED, and the first error when none of them could have been accepted (FORBIDDEN, NOT_FOUND or
 * INVALID each). After an error of the server the decisions before it count: asking again reports them as decided.
 */
export const decideApprovals = operation({
  name: 'decideApprovals',
  does:
    'Gives several verdicts, all or none: the error of the first that is refused names its index. With atomic: false, each ' +
    'has its own outcome, and an error for all only when each is invalid, unknown or not allowed.',
  permission: 'approvals:Decide',
  input: z
    .object({
      decisions: z
        .array(uncheckedPart(decision))
        .refine(({ length }) => length >= 1 && length <= maxBatch, `must have 1 to ${maxBatch} entries`)
        .describe('The verdicts, 1 to 50.'),
      atomic: optional(
        z
          .boolean()
          .describe('Whether all verdicts are given or none; with false, each has an outcome of its own.'),
        'true',
      ),
    })
    .describe('Verdicts about several approvals.'),
  payload: z
    .object({ outcomes: z.array(decisionOutcome).describe('The outcomes in the order of the decisions.') })
    .describe('The outcomes of several verdicts.'),
  refuses,
  async run(ctx, { decisions, atomic }) {
    if (atomic === false) return { outcomes: await giveEachVerdict(ctx, decisions) }
    const decided = await giveAllVerdicts(ctx, decisions)
    return { outcomes: decided.map((approval) => ({ approvalId: approval.id, approval, error: null })) }
  },
})

async function giveEachVerdict(
  ctx: Ctx,
  decisions: readonly DecideApprovalInput[],
): Promise<DecisionOutcome[]> {
  const outcomes: DecisionOutcome[] = []
  const hopeless: AppError[] = []
  for (const [i, one] of decisions.entries()) {
    const { approvalId } = one
    try {
      const approval = await giveVerdict(ctx, one, ['input', 'decisions', String(i)])
      outcomes.push({ approvalId, approval, error: null })
    } catch (error) {
      const known = asAppError(error)
      if (!known || known.code === 'UNAUTHENTICATED' || known.code === 'UNAVAILABLE') throw error
      if (['FORBIDDEN', 'NOT_FOUND', 'INVALID'].includes(known.code)) hopeless.push(known)
      outcomes.push({
        approvalId,
        approval: known.code === 'NOT_FOUND' ? null : approvalId,
        error: { code: known.code, message: known.message },
      })
    }
  }
  if (hopeless.length === decisions.length) throw hopeless[0]!
  return outcomes
}
