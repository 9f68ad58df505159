/** What people see of retention: what a sweep would remove, and what is left of generations that were removed. */
import type { z } from 'zod'
import { check } from '../../core/check.ts'
import { timeOf } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { retentions, removedGenerations } from '../../store/db/tables/retention.ts'
import { assertMay, projectOf, type Ctx, ownershipCondition } from '../access/index.ts'
import { countRuns, type KeptReason } from './find-runs.ts'
import { daysBefore, type RemovedCounts } from './lease.ts'
import { countOthers } from './remove-others.ts'
import { daysShape, mergedDays, noDays } from './settings.ts'
import { and, eq } from 'drizzle-orm'
import type { Page } from '../../core/page.ts'
import { listPage } from '../../store/db/lists.ts'

/** Each count goes up to here. */
export const mostPreviewed = 10_000

export interface RetentionPreview {
  removed: RemovedCounts
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

/** A call of a removed generation, without its arguments and its result. */
export interface CallFact {
  id: string
  name: string
  status: string
  attempts: number
  settledAt: string | null
  approval: {
    id: string
    status: string
    settledAt: string | null
    votes: { by: string; verdict: string; at: string }[]
  } | null
}

export interface RemovedGeneration {
  id: string
  projectId: string
  agentId: string
  requestedBy: string
  status: string
  stepCount: number
  callCount: number
  inputTokens: number
  outputTokens: number
  /** Null where it went by age. */
  facts: CallFact[] | null
  createdAt: Date
  finishedAt: Date
  removedAt: Date
}

/**
 * What is left of the removed generations of a project that the caller reached, those that were created last first; with
 * `generationId` of that one. Action `generations:List`.
 */
export async function listRemovedGenerations(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; generationId?: string | null | undefined; page: Page },
): Promise<RemovedGeneration[]> {
  const { page, generationId } = input
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'generations:List', projectId, 'generation/*', { reached: true })
  const where = and(
    typeof generationId === 'string' ? eq(removedGenerations.id, generationId) : undefined,
    ownershipCondition(ctx, 'generation/*', removedGenerations.requestedBy),
  )
  const rows = await listPage(ctx.db, removedGenerations, projectId, page, where)
  return rows.map((row) => ({ ...row, facts: row.facts as CallFact[] | null }))
}
