/** Loads agents as callables. Agents are a module above this one, so this reads the few columns that a call needs. */
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Callable } from './callable.ts'
import { agentCallable, type AgentName } from './kinds/agent.ts'

/** Agents of a project as callables, in the order of the ids; deleted agents are left out. Checks no permission. */
export async function loadAgentCallables(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<Callable[]> {
  if (ids.length === 0) return []
  const rows = await query<Omit<AgentName, 'createdAt' | 'updatedAt'> & { at: number }>(
    db,
    sql`
      select
        id,
        project_id as "projectId",
        name,
        version,
        (extract(epoch from updated_at) * 1000)::float8 as at
      from agents
      where id in ${[...ids]}
        and project_id = ${projectId}`,
  )
  return ids.flatMap((id) => {
    const row = rows.find((one) => one.id === id)
    if (!row) return []
    const { at, ...agent } = row
    return [agentCallable({ ...agent, createdAt: new Date(at), updatedAt: new Date(at) })]
  })
}
