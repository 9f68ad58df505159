/** What is left of generations that were removed. */
import { and, eq } from 'drizzle-orm'
import type { Page } from '../../core/page.ts'
import { listPage } from '../../store/db/keyset.ts'
import { removedGenerations } from '../../store/db/tables/retention.ts'
import { assertMay, ownedBy, projectOf, type Ctx } from '../access/index.ts'

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
    ownedBy(ctx, 'generation/*', removedGenerations.requestedBy),
  )
  const rows = await listPage(ctx.db, removedGenerations, projectId, page, where)
  return rows.map((row) => ({ ...row, facts: row.facts as CallFact[] | null }))
}
