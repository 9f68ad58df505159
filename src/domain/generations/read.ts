/** Reads generations and their steps, and follows their events. */
import { AppError } from '../../core/errors.ts'
import type { Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { generations, modelAttempts, steps } from '../../store/db/tables/generations.ts'
import { removedGenerations } from '../../store/db/tables/retention.ts'
import { visibleRows, reachable, type Ctx, assertMay, untilRevoked } from '../access/index.ts'
import { generationOf, type Generation } from './generation.ts'
import { stepOf, type FailedAttempt, type Step } from './steps.ts'
import {
  followGeneration,
  readGenerationEvents,
  type EventStream,
  type RecordedEvent,
} from '../events/index.ts'

/** Generations by id, null for what does not exist for the caller. Action `generations:Get` on each. */
export async function getGenerations(ctx: Ctx, ids: readonly string[]): Promise<(Generation | null)[]> {
  const rows = await loadGenerations(ctx.db, ids)
  return visibleRows(
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
  const [gone] = await visibleRows(
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
  return visibleRows(
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

/**
 * At most `first` events of a generation after a cursor, for clients that poll. Action `generations:Get`.
 * CURSOR_EXPIRED when the event of the cursor is not in the log any more. A number instead of a cursor is that of an
 * event that exists.
 */
export async function readEvents(
  ctx: Ctx,
  generation: Generation,
  input: { after: string | number | null; first: number },
): Promise<{ events: RecordedEvent[]; more: boolean }> {
  const { id, projectId, requestedBy: by } = generation
  await assertMay(ctx, 'generations:Get', projectId, `generation/${id}`, { by })
  return readGenerationEvents(ctx, id, input)
}

/**
 * Every event of a generation after the cursor (null: from the beginning), then live with text deltas, until its last
 * event. Ends at once when the cursor is that of the last event. Action `events:Subscribe` on the generation, checked
 * before the stream opens. CURSOR_EXPIRED, also before the stream opens, when the event of the cursor is not in the
 * log any more.
 */
export async function watchGeneration(
  ctx: Ctx,
  input: { generationId: string; after?: string | number | null | undefined },
): Promise<EventStream> {
  const { id, projectId, requestedBy: by } = await findGeneration(ctx, input.generationId)
  await assertMay(ctx, 'events:Subscribe', projectId, `generation/${id}`, { by })
  return untilRevoked(ctx, await followGeneration(ctx, id, input.after))
}
