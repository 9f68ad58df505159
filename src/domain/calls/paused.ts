/** Whether a pause holds a call outside any generation. */
import { query, type Database } from '../../store/db/database.ts'
import { pausesOf } from '../../store/work/pauses.ts'

/** What holds the call when it is paused: its project, its tool, and the agent through which it came. */
interface Pausable {
  projectId: string
  toolId: string | null
  agentId: string | null
}

/** The ids of these. */
export function targetsOf({ projectId, toolId, agentId }: Pausable): string[] {
  return [projectId, toolId, agentId].filter((id) => id !== null)
}

/** Whether a pause holds one of these now. */
export async function isPaused(db: Database, call: Pausable): Promise<boolean> {
  return (await query(db, pausesOf(targetsOf(call)))).length > 0
}
