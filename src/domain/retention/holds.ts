/** Legal holds: what must not be removed, whatever the settings say and whoever asks. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { kindOfId, newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { entity, idOf, idShape, part, choice } from '../../core/shapes.ts'
import { atomically, query, type Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/lists.ts'
import { selectRows, insertSelect } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { legalHolds } from '../../store/db/tables/retention.ts'
import {
  assertMay,
  assertStillValid,
  inProject,
  operation,
  projectOf,
  publishNews,
  reachable,
  recordChange,
  type Ctx,
} from '../access/index.ts'
import { appendProjectEvents, legalHoldLifted, legalHoldPut } from '../events/index.ts'
import { assertRequester } from './removals.ts'
import { lockRetention } from './lease.ts'

const holdKind = choice('LegalHoldKind', 'What a legal hold keeps.', {
  PROJECT: 'The hold is for all of the project.',
  RUN: 'The hold is for one root generation with all below it.',
  REQUESTER: 'The hold is for all that one API key or person has requested.',
})

export const legalHold = part('LegalHold', 'Something that is not removed until the hold is lifted.', {
  id: idOf('legalHold', 'hold'),
  kind: holdKind.describe('What the hold keeps.'),
  target: view.under('targetId', view.id('The id of the project, generation or requester.')),
  reason: view.text('The reason that was given.'),
  putBy: view.principal('putBy', 'The principal that put the hold.'),
  createdAt: view.date('When the hold was put.'),
  liftedAt: view.date('When the hold was lifted; null before.').nullable(),
  liftedBy: view.principal('liftedBy', 'The principal that lifted the hold; null before.').nullable(),
})
export interface LegalHold extends z.output<typeof legalHold> {
  projectId: string
}

export const LegalHold = entity<LegalHold>()('LegalHold')

function holdOf(row: typeof legalHolds.$inferSelect): LegalHold {
  const kinds = { project: 'PROJECT', generation: 'RUN' } as const
  return { ...row, kind: kinds[kindOfId(row.target) as keyof typeof kinds] ?? 'REQUESTER' }
}

const changed = part('LegalHoldPayload', 'The legal hold after the mutation.', {
  hold: LegalHold.describe('The legal hold after the mutation.'),
})

/** The most holds of a project that hold. */
const mostHolds = 1000

/** NOT_FOUND for a run that does not exist, or was removed. LIMITED beyond 1,000 holds. */
export const putLegalHold = operation({
  name: 'putLegalHold',
  does:
    'Keeps a generation with all above and below it, everything of a requester, or the whole project, until it is ' +
    'lifted: once this responds nothing of it is removed. A repeat returns the hold that is there.',
  permission: 'retention:Hold',
  input: z
    .object({
      ...inProject,
      generationId: idOf('generation', 'generation', 'the generation to keep').nullish(),
      requesterId: idShape(
        'The id of the API key or person whose data to keep, which begins with key_ or usr_; not with generationId.',
      ).nullish(),
      reason: text(2000, 1).describe('Why, at most 2,000 characters.'),
    })
    .describe('What to keep: a generation, what a requester has left, or else the whole project.'),
  payload: changed,
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, { generationId, requesterId, reason, ...given }) {
    if (generationId && requesterId)
      throw invalidAt(['input', 'requesterId'], 'cannot be given with generationId: put a hold on each')
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'retention:Hold', projectId, `project/${projectId}`)
    const hold = await atomically(ctx.db, async (tx) => {
      await assertStillValid(tx, ctx.principal)
      if (requesterId) await assertRequester(tx, projectId, requesterId)
      // Whatever is being removed is gone once this is locked, and the next statement sees it.
      await lockRetention(tx, projectId)
      const target = generationId ? await rootOf(tx, projectId, generationId) : (requesterId ?? projectId)
      return insertHold(tx, ctx, { projectId, target, reason })
    })
    publishNews(ctx, projectId)
    return { hold }
  },
})

async function rootOf(tx: Database, projectId: string, id: string): Promise<string> {
  const [row] = await query<{ id: string }>(
    tx,
    sql`select coalesce(root_id, id) as id from generations where id = ${id} and project_id = ${projectId}`,
  )
  if (!row) throw notFound('generation', id)
  return row.id
}

async function insertHold(
  tx: Database,
  ctx: Ctx,
  { projectId, target, reason }: { projectId: string; target: string; reason: string },
): Promise<LegalHold> {
  const own = { id: newId('legalHold'), projectId, target, reason, putBy: ctx.principal.id }
  const [count] = await query<{ n: number }>(
    tx,
    sql`select count(*)::int as n from legal_holds where project_id = ${projectId} and lifted_at is null`,
  )
  if (count!.n >= mostHolds)
    throw new AppError('LIMITED', `This project has reached its limit of ${mostHolds} legal holds.`)
  const fresh = await query(
    tx,
    sql`${insertSelect(legalHolds, own)}
      on conflict (project_id, target) where lifted_at is null do nothing
      returning 1`,
  )
  if (fresh.length > 0) {
    await recordChange(tx, ctx, {
      projectId,
      action: 'retention:Hold',
      resource: `hold/${own.id}`,
      details: { target, reason },
    })
    const event = legalHoldPut({ holdId: own.id, target, decidedBy: ctx.principal.id })
    await appendProjectEvents(tx, projectId, [event])
  }
  const [row] = await selectRows(
    tx,
    legalHolds,
    sql`where project_id = ${projectId} and target = ${target} and lifted_at is null`,
  )
  return holdOf(row!)
}

export const liftLegalHold = operation({
  name: 'liftLegalHold',
  does: 'Ends a legal hold: the next sweep removes what is due. Idempotent.',
  permission: 'retention:Hold',
  input: z.object({ holdId: idOf('legalHold', 'hold') }).describe('The hold to end.'),
  payload: changed,
  refuses: ['NOT_FOUND'],
  async run(ctx, { holdId }) {
    const [row] = await selectRows(ctx.db, legalHolds, sql`where id = ${holdId}`)
    const { projectId, target } = reachable(ctx, row, 'hold', holdId)
    await assertMay(ctx, 'retention:Hold', projectId, `project/${projectId}`)
    const hold = await atomically(ctx.db, async (tx) => {
      await assertStillValid(tx, ctx.principal)
      await lockRetention(tx, projectId)
      const written = await query(
        tx,
        sql`update legal_holds set lifted_at = now(), lifted_by = ${ctx.principal.id}
          where id = ${holdId} and lifted_at is null
          returning 1`,
      )
      if (written.length > 0) {
        await recordChange(tx, ctx, {
          projectId,
          action: 'retention:Hold',
          resource: `hold/${holdId}`,
          details: { target, lifted: true },
        })
        const event = legalHoldLifted({ holdId, target, decidedBy: ctx.principal.id })
        await appendProjectEvents(tx, projectId, [event])
      }
      const [now] = await selectRows(tx, legalHolds, sql`where id = ${holdId}`)
      return holdOf(now!)
    })
    publishNews(ctx, projectId)
    return { hold }
  },
})

/** Legal holds of a project, newest first, all or those that hold. Action `retention:Get`. */
export async function listLegalHolds(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; active?: boolean | null | undefined; page: Page },
): Promise<LegalHold[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'retention:Get', projectId, `project/${projectId}`)
  const where = input.active ? sql`lifted_at is null` : undefined
  return (await listPage(ctx.db, legalHolds, projectId, input.page, where)).map(holdOf)
}
