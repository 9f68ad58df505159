/** What is left of generations that were removed. */
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { removedGenerations } from '../../store/db/tables/retention.ts'
import { assertMay, reaches, type Ctx } from '../access/index.ts'

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

/** What is left of a removed generation; null for an id of none that the caller reached. Action `generations:Get`. */
export async function getRemovedGeneration(ctx: Ctx, id: string): Promise<RemovedGeneration | null> {
  const [row] = await selectRows(ctx.db, removedGenerations, sql`where id = ${id}`)
  if (!row || !reaches(ctx, row.projectId)) return null
  await assertMay(ctx, 'generations:Get', row.projectId, `generation/${id}`, { by: row.requestedBy })
  return { ...row, facts: row.facts as CallFact[] | null }
}
