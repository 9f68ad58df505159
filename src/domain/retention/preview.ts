/** Counts what a sweep would remove, and removes nothing. */
import type { z } from 'zod'
import { check } from '../../core/check.ts'
import { timeOf } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { retentions } from '../../store/db/tables/retention.ts'
import { assertMay, projectOf, type Ctx } from '../access/index.ts'
import { countRuns, type KeptReason } from './find-runs.ts'
import { daysBefore, type Removed } from './kinds.ts'
import { countOthers } from './remove-others.ts'
import { daysShape, mergedDays, noDays } from './settings.ts'

/** Each count goes up to here. */
export const mostPreviewed = 10_000

export interface RetentionPreview {
  removed: Removed
  /** Runs whose time has come and that stay, by reason. */
  kept: Partial<Record<KeptReason, number>>
}

/**
 * What a sweep would remove now under the settings of the project and those that are given: root runs, and rows of the
 * other kinds. Files that only these runs name are not counted. Action `retention:Get`.
 */
export async function previewRetention(
  ctx: Ctx,
  input: z.input<typeof daysShape> & { projectId?: string | null | undefined },
): Promise<RetentionPreview> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'retention:Get', projectId, `project/${projectId}`)
  const [row] = await selectRows(ctx.db, retentions, sql`where id = ${projectId}`)
  const days = mergedDays(row ?? noDays, check(daysShape, input))
  const now = await timeOf(ctx.db)
  const before = (count: number | null) => daysBefore(now, count)
  const runsBefore = before(days.runDays)
  const { runs, kept } = runsBefore
    ? await countRuns(ctx.db, { projectId, before: runsBefore, requester: null }, mostPreviewed)
    : { runs: 0, kept: {} }
  const others = await countOthers(
    ctx.db,
    projectId,
    {
      runs: runsBefore,
      events: before(days.eventDays),
      files: before(days.fileDays),
      deliveries: before(days.deliveryDays),
      audit: before(days.auditDays),
    },
    mostPreviewed,
  )
  return { removed: { runs, ...others }, kept }
}
