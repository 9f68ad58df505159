/** Where a run that did not complete goes on: after the last calls that it made, which are not repeated. */
import type { Ctx } from '../../../domain/access/index.ts'
import { showStepsOf, type Generation } from '../../../domain/generations/index.ts'
import { callsOf } from '../../../domain/models/index.ts'

/** The history with which a run goes on. */
export interface HistoryUpTo {
  generationId: string
  step: number
}

/** What goes on after the last calls of a run, and repeats none of them. Null for a run that made none. */
export async function afterLastCalls(
  ctx: Ctx,
  { id, input, retryOf }: Generation,
): Promise<HistoryUpTo | null> {
  const steps = await showStepsOf(ctx.db, [id])
  const made = steps.filter(({ parts }) => callsOf(parts).length > 0).map(({ stepIndex }) => stepIndex)
  if (made.length > 0) return { generationId: id, step: Math.max(...made) }
  // It went on so itself.
  return input.length === 0 ? retryOf : null
}
