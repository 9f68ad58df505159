/** How many generations a list has, by what has become of them, and by agent. */
import { and, eq } from 'drizzle-orm'
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { generations } from '../../store/db/tables/generations.ts'
import type { Ctx } from '../access/index.ts'
import { listed, type GenerationFilter } from './list.ts'

/** Numbers of generations. */
export interface GenerationNumbers {
  completed: number
  failed: number
  cancelled: number
  expired: number
  /** Those that have not ended. */
  open: number
}

export interface GenerationGroup extends GenerationNumbers {
  /** Null for all agents. */
  id: string | null
}

export interface GenerationTally {
  total: GenerationGroup
  /** Those with the most generations first, at most `mostGroups`. */
  groups: GenerationGroup[]
  /** Whether all that match were counted: counting stops at `countLimit`. */
  isComplete: boolean
}

const countLimit = 10_000
const mostGroups = 50

/** How many generations of a list there are. Action `generations:List`. INVALID as `listGenerations`. */
export async function tallyGenerations(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; filter?: GenerationFilter | null | undefined },
): Promise<GenerationTally> {
  const { projectId, where } = await listed(ctx, input)
  const g = generations
  const rows = await query<GenerationGroup>(
    ctx.db,
    sql`select agent_id as id,
        count(*) filter (where status = 'COMPLETED')::int as completed,
        count(*) filter (where status = 'FAILED')::int as failed,
        count(*) filter (where status = 'CANCELLED')::int as cancelled,
        count(*) filter (where status = 'EXPIRED')::int as expired,
        count(*) filter (where status in ('QUEUED', 'RUNNING', 'WAITING'))::int as open
      from (
        select agent_id, status
        from ${g}
        where ${and(eq(g.projectId, projectId), where)!}
        limit ${countLimit}
      ) as matching
      group by agent_id
      order by count(*) desc, agent_id`,
  )
  const total: GenerationNumbers = { completed: 0, failed: 0, cancelled: 0, expired: 0, open: 0 }
  for (const row of rows)
    for (const name of Object.keys(total) as (keyof GenerationNumbers)[]) total[name] += row[name]
  const counted = Object.values(total).reduce((sum, number) => sum + number, 0)
  return {
    total: { id: null, ...total },
    groups: rows.slice(0, mostGroups),
    isComplete: counted < countLimit,
  }
}
