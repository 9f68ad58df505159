/** Removes what one requester has left behind, at the request of somebody who may ask for that. */
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { entity, idShape } from '../../core/shapes.ts'
import { atomically, query } from '../../store/db/database.ts'
import { isHeld } from '../../store/db/held.ts'
import { listPage } from '../../store/db/keyset.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { dataRemovals } from '../../store/db/tables/retention.ts'
import { insertSelect } from '../../store/db/write.ts'
import {
  assertMay,
  assertStillValid,
  inProject,
  operation,
  projectOf,
  recordChange,
  type Ctx,
} from '../access/index.ts'
import { appendProjectEvents, dataRemovalRequested } from '../events/index.ts'
import type { KeptReason } from './find-runs.ts'
import type { Removed } from './kinds.ts'
import { assertRequester } from './requesters.ts'
import { lockRetention, makeDue, wakeSweep } from './lease.ts'

/** Runs of the requester that stay, by reason; calls outside runs as `CALLS`. */
export type Kept = Partial<Record<KeptReason | 'CALLS', number>>

export interface DataRemoval {
  id: string
  projectId: string
  requester: string
  requestedBy: string
  reason: string | null
  removed: Removed
  kept: Kept | null
  createdAt: Date
  finishedAt: Date | null
}

export const DataRemoval = entity<DataRemoval>()('DataRemoval')

export const removalOf = (row: typeof dataRemovals.$inferSelect): DataRemoval => ({
  ...row,
  removed: row.removed as Removed,
  kept: row.kept as Kept | null,
})

/**
 * Whatever the retention of the project is; what is open, UNKNOWN or under a legal hold stays and is counted. A repeat while it
 * goes on returns the same removal. CONFLICT while a legal hold keeps all of the requester or of the project.
 */
export const removeRequesterData = operation({
  name: 'removeRequesterData',
  does:
    'Removes the finished generations, the calls outside generations and the files of one requester; what ended within ' +
    '24 hours follows. A line of each call and verdict stays, without arguments and results, and so do audit entries.',
  permission: 'retention:Remove',
  input: z
    .object({
      ...inProject,
      requesterId: idShape('The id of the API key or person; it begins with key_ or usr_.'),
      reason: text(2000).describe('Why, at most 2,000 characters.').nullish(),
    })
    .describe('Whose data to remove.'),
  payload: z
    .object({ removal: DataRemoval.describe('The request after the mutation.') })
    .describe('The request, which is served in the background.'),
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { requesterId: requester, reason = null, ...given }) {
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'retention:Remove', projectId, `principal/${requester}`)
    const removal = await atomically(ctx.db, async (tx) => {
      await assertStillValid(tx, ctx.principal)
      await assertRequester(tx, projectId, requester)
      await lockRetention(tx, projectId)
      const [held] = await query(tx, sql`select 1 where ${isHeld(projectId, sql`${requester}`)}`)
      if (held)
        throw new AppError(
          'CONFLICT',
          'A legal hold keeps what this requester has left. Lift it before you remove it.',
        )
      const own = { id: newId('removal'), projectId, requester, requestedBy: ctx.principal.id, reason }
      const fresh = await query(
        tx,
        sql`${insertSelect(dataRemovals, own)}
          on conflict (project_id, requester) where finished_at is null do nothing
          returning 1`,
      )
      if (fresh.length > 0) {
        await recordChange(tx, ctx, {
          projectId,
          action: 'retention:Remove',
          resource: `principal/${requester}`,
          details: { removalId: own.id, ...(reason ? { reason } : {}) },
        })
        await appendProjectEvents(tx, projectId, [dataRemovalRequested({ removalId: own.id, requester })])
      }
      await makeDue(tx, projectId)
      const [row] = await selectRows(
        tx,
        dataRemovals,
        sql`where project_id = ${projectId} and requester = ${requester} and finished_at is null`,
      )
      return removalOf(row!)
    })
    wakeSweep(ctx, projectId)
    return { removal }
  },
})

/** Removals of the data of a requester, newest first. Action `retention:Get`. */
export async function listDataRemovals(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; page: Page },
): Promise<DataRemoval[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'retention:Get', projectId, `project/${projectId}`)
  return (await listPage(ctx.db, dataRemovals, projectId, input.page)).map(removalOf)
}
