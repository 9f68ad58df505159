/** What a generation was started with, for people. */
import { assertMay, type Ctx } from '../access/index.ts'
import type { AgentSettings } from '../agents/index.ts'
import type { Generation } from './generation.ts'
import { type InputMessage, shownMessage } from '../threads/index.ts'

/** The input messages in their order. Pure. */
export function inputOf({ input }: Pick<Generation, 'input'>): InputMessage[] {
  return input.map(shownMessage)
}

/** The settings that a generation runs with. Action `agents:Get` on its agent, also when that was deleted since. */
export async function settingsOfRun(ctx: Ctx, generation: Generation): Promise<AgentSettings> {
  const { projectId, agentId, settings } = generation
  await assertMay(ctx, 'agents:Get', projectId, `agent/${agentId}`, { agentId })
  return settings
}
