/** Cancels the generations that a filter finds. */
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { cancelGeneration } from './cancel.ts'
import { generationFilter, listToCancel } from './list.ts'
import { assertMay, inProject, operation, projectOf } from '../access/index.ts'

/** The most generations that one request cancels. */
export const mostCancelled = 100

/** Each in a transaction of its own: when it fails, those before stay cancelled. Those that were asked to end are not found again. */
export const cancelGenerations = operation({
  name: 'cancelGenerations',
  does: `Requests the end of the oldest generations that match a filter and have not ended, at most ${mostCancelled}. Idempotent.`,
  permission: ['generations:List', 'generations:Cancel'],
  input: z
    .object({
      ...inProject,
      filter: generationFilter.describe(
        'The filter, as in the query generations; an empty one matches every generation.',
      ),
      reason: text(1000).nullish().describe('The reason for people to read, at most 1,000 characters.'),
    })
    .describe('The generations to cancel.'),
  payload: z
    .object({
      cancelled: z.int().describe('The number of generations whose end this request asked for.'),
      hasMore: z.boolean().describe('Whether other generations match: send the mutation again.'),
    })
    .describe('The number of generations that were asked to end.'),
  refuses: ['NOT_FOUND'],
  async run(ctx, given) {
    const { reason } = given
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'generations:Cancel', projectId, 'generation/*', { reached: true })
    const ids = await listToCancel(ctx, given, mostCancelled + 1)
    const chosen = ids.slice(0, mostCancelled)
    for (const generationId of chosen) await cancelGeneration(ctx, { generationId, reason })
    return { cancelled: chosen.length, hasMore: ids.length > chosen.length }
  },
})
