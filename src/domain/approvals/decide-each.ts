/** Several verdicts, each with its own outcome. */
import { z } from 'zod'
import type { AppError, ErrorCode } from '../../core/errors.ts'
import { entity, idShape, part, reference } from '../../core/shapes.ts'
import { asAppError, operation } from '../access/index.ts'
import { giveVerdict, severalDecisions } from './decide.ts'

const decisionOutcome = part('DecisionOutcome', 'The outcome of one verdict.', {
  approvalId: idShape('The id of the approval, as in the input.'),
  approval: reference('Approval')
    .nullable()
    .describe('The approval as it is now; null when it does not exist for this API key.'),
  error: entity<{ code: ErrorCode; message: string }>()('DecisionError')
    .nullable()
    .describe('The reason for which the verdict was refused; null when it was accepted.'),
})
type DecisionOutcome = z.output<typeof decisionOutcome>

/**
 * In their order, each as decideApproval does: one that is refused changes nothing about the others. Throws what ends all of them:
 * UNAUTHENTICATED, and the first error when none of them could have been accepted (FORBIDDEN, NOT_FOUND or INVALID each). After
 * an error of the server the decisions before it count: asking again reports them as decided.
 */
export const decideEachApproval = operation({
  name: 'decideEachApproval',
  does: 'Gives several verdicts, each with its own outcome; an error for all only when each is invalid, unknown or not allowed.',
  permission: 'approvals:Decide',
  input: severalDecisions,
  payload: z
    .object({ outcomes: z.array(decisionOutcome).describe('The outcomes in the order of the decisions.') })
    .describe('The outcomes of several verdicts.'),
  refuses: ['NOT_FOUND'],
  async run(ctx, { decisions }) {
    const outcomes: DecisionOutcome[] = []
    const hopeless: AppError[] = []
    for (const [i, one] of decisions.entries()) {
      const { approvalId } = one
      try {
        const path = ['input', 'decisions', String(i)]
        await giveVerdict(ctx, one, path)
        outcomes.push({ approvalId, approval: approvalId, error: null })
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
    return { outcomes }
  },
})
