/**
 * What a start goes on with: an earlier run instead of a new one, the newest of its thread, or the history of another
 * up to one of its steps.
 */
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { whole } from '../../core/check.ts'
import { idOf, openPart } from '../../core/shapes.ts'
import { invalidAt, notFound } from '../../core/errors.ts'
import { selectRows } from '../../store/db/rows.ts'
import { steps } from '../../store/db/tables/generations.ts'
import type { Ctx } from '../access/index.ts'
import type { Agent } from '../agents/index.ts'
import { type AssistantPart, callsOf } from '../models/index.ts'
import { assertHistory } from '../threads/index.ts'
import { loadOpenCallsOf } from '../tool-calls/index.ts'
import { ownThreadId, type RetryOf } from './generation.ts'
import { getGenerations } from './read.ts'

/**
 * Runs first in the transaction that inserts the run with this id. Returns the run that was started before instead of it,
 * which inserts none; null: there is none.
 */
export type BindStart = (tx: Database, id: string, projectId: string) => Promise<string | null>

/** Another run has come into the thread. Nothing was written. */
export class ThreadMovedOnError extends Error {
  override name = 'ThreadMovedOnError'
}

/**
 * Binds a run as `bind` does, and when that finds no earlier one, proves under the lock of the thread that this run is its
 * newest. Throws ThreadMovedOnError otherwise.
 */
export function followingOnly(newestId: string, bind: BindStart | null): BindStart {
  return async (tx, id, projectId) => {
    const earlier = bind && (await bind(tx, id, projectId))
    if (earlier) return earlier
    const [thread] = await query<{ id: string }>(
      tx,
      sql`select t.id
        from threads as t
        where t.id = (select g.thread_id from generations as g where g.id = ${newestId})
        for update`,
    )
    // A statement of its own: it sees whoever had the lock before.
    const [newest] = await query<{ id: string }>(
      tx,
      sql`select id
        from generations
        where thread_id = ${thread?.id ?? null}
        order by created_at desc, id desc
        limit 1`,
    )
    if (newest?.id !== newestId) throw new ThreadMovedOnError()
    return null
  }
}

/** Retries: runs that begin with the history of another run, up to one of its steps. */
export const retryShape = openPart(
  'RetryOfInput',
  'A run of the same agent, and how much of it is history.',
  {
    generationId: idOf('generation'),
    step: whole(0, 101).describe(
      'The last step that is history, from 1, with the input and the steps before it; all their tool calls must have an outcome. ' +
        '0: only the history before the input of the generation; when there is none, its agent may be another.',
    ),
  },
).describe(
  'The run whose history this one begins with, in a new thread: its tool calls have run and are not run again. With a step that ' +
    'has tool calls, prompt and messages may be left out. Permission: generations:Get on the run.',
)

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
