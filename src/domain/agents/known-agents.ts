/** Agents that this process has read. One may have been changed since: its version is proved. */
import { memoryOf } from '../../store/db/memory.ts'
import { reachable, type Ctx } from '../access/index.ts'
import type { Agent } from './agent.ts'
import { findAgent } from './agents.ts'

const agentsOf = memoryOf<Agent>(2000)

/**
 * The agent as this process has read it before, without a statement; null when it has not. NOT_FOUND when it does not
 * exist for the caller. The statement that relies on it proves its version. Checks no permission.
 */
export function rememberedAgent(ctx: Ctx, id: string): Agent | null {
  const known = agentsOf(ctx.db).get(id)
  return known ? reachable(ctx, known, 'agent', id) : null
}

/** The agent as it is now, which this process remembers from then on. NOT_FOUND as `findAgent`. Checks no permission. */
export async function readAgent(ctx: Ctx, id: string): Promise<Agent> {
  agentsOf(ctx.db).delete(id)
  const agent = await findAgent(ctx, id)
  agentsOf(ctx.db).set(id, agent)
  return agent
}
