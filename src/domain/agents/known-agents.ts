/** Agents that this process has read. One may have been changed since: `isAgentVersion` proves that it was not. */
import { memoryOf } from '../../store/db/memory.ts'
import { reachable, type Ctx } from '../access/index.ts'
import type { Agent } from './agent.ts'
import { findAgent } from './agents.ts'

const agentsOf = memoryOf<Agent>(2000)

/**
 * The agent as this process has read it before, without a statement; else as `readAgent` reads it. NOT_FOUND when it does not
 * exist for the caller. `isAgentVersion` must be a condition of the statement that relies on a remembered agent. Checks no
 * permission.
 */
export async function recallAgent(ctx: Ctx, id: string): Promise<{ agent: Agent; isRemembered: boolean }> {
  const known = agentsOf(ctx.db).get(id)
  if (known) return { agent: reachable(ctx, known, 'agent', id), isRemembered: true }
  return { agent: await readAgent(ctx, id), isRemembered: false }
}

/** The agent as it is now, which this process remembers from then on. NOT_FOUND as `findAgent`. Checks no permission. */
export async function readAgent(ctx: Ctx, id: string): Promise<Agent> {
  agentsOf(ctx.db).delete(id)
  const agent = await findAgent(ctx, id)
  agentsOf(ctx.db).set(id, agent)
  return agent
}
