/** Which tools the models of agents do not get, as the newest runs show. */
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { LeftOutTool } from './generation.ts'

/** The newest runs of an agent of which one has to have asked its model. */
const newestRuns = 20

/**
 * For each of these agents the tools that were left out in its newest run that asked its model, each once, in the order of
 * steps. None for an agent whose newest runs are removed, or have asked no model yet. Checks no permission.
 */
export async function loadLeftOutOf(db: Database, agentIds: readonly string[]): Promise<LeftOutTool[][]> {
  const rows = await query<{ agentId: string; leftOut: LeftOutTool[] }>(
    db,
    sql`select a.id as "agentId", s.left_out as "leftOut"
      from agents as a
      cross join lateral (
        select r.id from (
          select g.id, g.step_count, g.created_at from generations as g where g.agent_id = a.id
          order by g.created_at desc, g.id desc limit ${newestRuns}::int
        ) as r
        where r.step_count > 0 order by r.created_at desc, r.id desc limit 1
      ) as newest
      join steps as s on s.generation_id = newest.id and s.left_out is not null
      where a.id in ${[...agentIds]}
      order by s.step_index`,
  )
  return agentIds.map((id) => {
    const tools = rows.filter(({ agentId }) => agentId === id).flatMap(({ leftOut }) => leftOut)
    return [...new Map(tools.map((tool) => [tool.name, tool])).values()]
  })
}
