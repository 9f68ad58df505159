/** Retries: runs that begin with the history of another run, up to one of its steps. */
import { invalidAt, notFound } from '../../core/errors.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { steps } from '../../store/db/tables/generations.ts'
import type { Ctx } from '../access/index.ts'
import type { Agent } from '../agents/index.ts'
import { type AssistantPart, callsOf } from '../models/index.ts'
import { assertHistory } from '../threads/index.ts'
import { loadOpenCallsOf } from '../tool-calls/index.ts'
import { ownThreadId, type RetryOf } from './generation.ts'
import { getGenerations } from './read.ts'

/**
 * Judges a retry: the run must exist for the caller in the project of the agent, who may read it (`generations:Get`) and
 * its thread, and it must have the step, whose calls, and those of the steps before it, have outcomes: they are history
 * and are not run again. With history it must be of the same agent; `isSilent`, without a message, the step must have calls.
 * NOT_FOUND or INVALID otherwise.
 */
export async function assertRetry(
  ctx: Ctx,
  agent: Agent,
  { generationId, step }: RetryOf,
  isSilent: boolean,
): Promise<void> {
  const [run] = await getGenerations(ctx, [generationId])
  if (!run || run.projectId !== agent.projectId) throw notFound('generation', generationId)
  const beganThread = run.threadId === ownThreadId(run.id)
  const hasHistory = step > 0 || !beganThread || run.retryOf !== null
  if (hasHistory && run.agentId !== agent.id)
    throw invalidAt(['input', 'retryOf', 'generationId'], 'belongs to another agent')
  if (!beganThread) await assertHistory(ctx, agent, run.threadId)
  if (step === 0) return
  const at = ['input', 'retryOf', 'step']
  const [last] = await selectRows(
    ctx.db,
    steps,
    sql`where generation_id = ${generationId} and step_index = ${step}::int`,
  )
  if (!last) throw invalidAt(at, `the generation has no step ${step}: it has ${run.stepCount}`)
  const open = await loadOpenCallsOf(ctx.db, [generationId])
  if (open.some(({ stepIndex }) => stepIndex !== null && stepIndex <= step))
    throw invalidAt(at, 'has tool calls without an outcome: wait for them, or choose an earlier step')
  if (isSilent && callsOf(last.parts as AssistantPart[]).length === 0)
    throw invalidAt(at, 'has no tool calls, so that the model needs a message: give prompt or messages')
}
