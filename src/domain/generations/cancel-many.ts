/** Cancels the generations that a filter finds. */
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { cancelGeneration } from './cancel.ts'
import { listToCancel, type GenerationFilter } from './list.ts'
import { assertMay, projectOf, type Ctx } from '../access/index.ts'

/** The most generations that one request cancels. */
export const mostCancelled = 100

const shape = z.object({ reason: text(1000).nullish() })

/**
 * Cancels the oldest generations that match the filter and have not ended, at most 100, each in a transaction of its own
 * as cancelGeneration does. Actions `generations:List` and `generations:Cancel`. `hasMore`: others match, so ask again.
 * Idempotent: those that were asked to end are not found again. When it fails, those before stay cancelled.
 */
export async function cancelGenerations(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    filter: GenerationFilter
    reason?: string | null | undefined
  },
): Promise<{ cancelled: number; hasMore: boolean }> {
  const { reason } = check(shape, { reason: input.reason })
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'generations:Cancel', projectId, 'generation/*', { reached: true })
  const ids = await listToCancel(ctx, input, mostCancelled + 1)
  const chosen = ids.slice(0, mostCancelled)
  for (const generationId of chosen) await cancelGeneration(ctx, { generationId, reason })
  return { cancelled: chosen.length, hasMore: ids.length > chosen.length }
}
