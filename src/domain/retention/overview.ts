/** What people see of retention: what a sweep would remove, and what is left of generations that were removed. */
import { part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import type { z } from 'zod'
import { check } from '../../core/check.ts'
import { timeOf } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { retentions, removedGenerations } from '../../store/db/tables/retention.ts'
import { assertMay, projectOf, type Ctx, ownershipCondition } from '../access/index.ts'
import { countRuns } from './find-runs.ts'
import { daysBefore, removedCounts } from './lease.ts'
import { keptCounts } from './removals.ts'
import { countOthers } from './remove-others.ts'
import { daysShape, mergedDays, noDays } from './settings.ts'
import { and, eq } from 'drizzle-orm'
import type { Page } from '../../core/page.ts'
import { listPage } from '../../store/db/lists.ts'

/** Each count goes up to here. */
const mostPreviewed = 10_000

export const retentionPreview = part(
  'RetentionPreview',
  `The result of a sweep that was only counted. Each number is at most ${mostPreviewed}.`,
  {
    removed: removedCounts.describe(
      'The numbers of what is removed; of generations only the roots are counted.',
    ),
    kept: keptCounts.describe('The numbers of what is old enough and stays.'),
  },
)
export type RetentionPreview = z.output<typeof retentionPreview>

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
export const removedVote = part('RemovedVote', 'A vote on a call that was removed.', {
  by: view.id('The id of the API key or person that voted.'),
  verdict: view.text('APPROVE or REJECT.'),
  at: view.text('When the vote was given, as ISO 8601.'),
})

export const removedCall = part(
  'RemovedCall',
  'What is left of a call of a removed generation: no arguments and no result.',
  {
    id: view.id('The id of the call.'),
    name: view.text('The runtime name of the tool.'),
    status: view.text('The outcome, a ToolCallStatus.'),
    attempts: view.int('How often the call was sent.'),
  },
)
export interface CallFact extends z.output<typeof removedCall> {
  settledAt: string | null
  approval: {
    id: string
    status: string
    settledAt: string | null
    votes: z.output<typeof removedVote>[]
  } | null
}

export const removedGeneration = part('RemovedGeneration', 'What is left of a generation that was removed.', {
  id: view.id('The id that the generation had.'),
  agentId: view.id('The id of its agent.'),
  requestedBy: view.principal('requester', 'The principal that started the generation.'),
  status: view.text('How the generation ended, a GenerationStatus.'),
  stepCount: view.int('The number of its model steps.'),
  callCount: view.int('The number of its tool calls.'),
  inputTokens: view.float('The tokens that its model has read.'),
  outputTokens: view.float('The tokens that its model has written.'),
  createdAt: view.date('When the generation was created.'),
  finishedAt: view.date('When the generation ended.'),
  removedAt: view.date('When the generation was removed.'),
})
export interface RemovedGeneration extends z.output<typeof removedGeneration> {
  projectId: string
  /** Null where it went by age. */
  facts: CallFact[] | null
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
