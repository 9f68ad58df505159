/** Reads the steps of a run in their order, with the calls that each made: a few steps with one pair of statements. */
import { AppError } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { showStepsBetween, type Step } from '../../../domain/generations/index.ts'
import { showCallsBetween, type StepRange, type ToolCall } from '../../../domain/tool-calls/index.ts'

/** A step and the calls that it made, in their order. A call has at least the state of the step's commit. */
export interface StepWithCalls {
  step: Step
  calls: ToolCall[]
}

/** How many steps are read ahead. They are kept until one beyond them is asked for. */
const ahead = 16

/**
 * Returns the function that gives the step of an index, or undefined when it is not committed. RESPONSE_TOO_LARGE when one
 * step and its calls are too large by themselves, however large the run is.
 */
export function createStepReader(
  ctx: Ctx,
  generationId: string,
): (index: number) => Promise<StepWithCalls | undefined> {
  const read = async (range: StepRange): Promise<Map<number, StepWithCalls>> =>
    new Map((await readSteps(ctx, generationId, range)).map((one) => [one.step.stepIndex, one]))
  let known = new Map<number, StepWithCalls>()
  return async (index) => {
    if (!known.has(index))
      known = await read({ from: index, to: index + ahead - 1 }).catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code !== 'RESPONSE_TOO_LARGE') throw error
        return read({ from: index, to: index })
      })
    return known.get(index)
  }
}

/** The steps of a run in this range, in their order, each with its calls. RESPONSE_TOO_LARGE when they are. */
export async function readSteps(ctx: Ctx, generationId: string, range: StepRange): Promise<StepWithCalls[]> {
  const [steps, calls] = await Promise.all([
    showStepsBetween(ctx.db, generationId, range),
    showCallsBetween(ctx.db, generationId, range),
  ])
  return steps.map((step) => ({ step, calls: calls.filter((call) => call.stepIndex === step.stepIndex) }))
}
