/** Reads generations and their steps. */
import { AppError } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { generations, modelAttempts, steps } from '../../store/db/tables/generations.ts'
import { removedGenerations } from '../../store/db/tables/retention.ts'
import { eachSeen, reachable, type Ctx } from '../access/index.ts'
import { generationOf, stepOf, type FailedAttempt, type Generation, type Step } from './generation.ts'

/** Generations by id, null for what does not exist for the caller. Action `generations:Get` on each. */
export async function getGenerations(ctx: Ctx, ids: readonly string[]): Promise<(Generation | null)[]> {
  const rows = await loadGenerations(ctx.db, ids)
  return eachSeen(
    ctx,
    ids,
    rows,
    'generations:Get',
    ({ id }) => `generation/${id}`,
    ({ requestedBy }) => ({ by: requestedBy }),
  )
}

/** Generations by id, in no order. Checks no permission. */
export async function loadGenerations(db: Database, ids: readonly string[]): Promise<Generation[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, generations, sql`where id in ${[...ids]}`)).map(generationOf)
}

/**
 * The generation if it exists for the caller, else NOT_FOUND, which says when it was removed. Checks no permission for one that is
 * there; to hear of one that was removed takes `generations:Get` on it.
 */
export async function findGeneration(ctx: Ctx, id: string): Promise<Generation> {
  const [generation] = await loadGenerations(ctx.db, [id])
  if (!generation) await assertNotRemoved(ctx, id)
  return reachable(ctx, generation, 'generation', id)
}

async function assertNotRemoved(ctx: Ctx, id: string): Promise<void> {
  const rows = await selectRows(ctx.db, removedGenerations, sql`where id = ${id}`)
  const [gone] = await eachSeen(
    ctx,
    [id],
    rows,
    'generations:Get',
    () => `generation/${id}`,
    ({ requestedBy }) => ({ by: requestedBy }),
  )
  if (!gone) return
  const removedAt = gone.removedAt.toISOString()
  throw new AppError(
    'NOT_FOUND',
    `The generation ${id} was removed on ${removedAt}: removedGenerations has what is left.`,
    { removedAt },
  )
}

/** Steps by id, null for what does not exist for the caller. Action `generations:Get` on the generation. */
export async function getSteps(ctx: Ctx, ids: readonly string[]): Promise<(Step | null)[]> {
  const stored = ids.length > 0 ? await selectRows(ctx.db, steps, sql`where id in ${[...ids]}`) : []
  const rows = stored.map((row) => stepOf(row))
  const owners = await loadGenerations(
    ctx.db,
    rows.map((step) => step.generationId),
  )
  const by = new Map(owners.map(({ id, requestedBy }) => [id, requestedBy]))
  return eachSeen(
    ctx,
    ids,
    rows,
    'generations:Get',
    (step) => `generation/${step.generationId}`,
    (step) => ({ by: by.get(step.generationId) ?? null }),
  )
}

/** The failed attempts of these generations, oldest first in each. Checks no permission. */
export async function loadFailedAttemptsOf(
  db: Database,
  generationIds: readonly string[],
): Promise<FailedAttempt[]> {
  if (generationIds.length === 0) return []
  const rows = await selectRows(
    db,
    modelAttempts,
    sql`where generation_id in ${[...generationIds]} and error_code is not null
      order by generation_id, step_index, attempt`,
  )
  return rows as FailedAttempt[]
}
