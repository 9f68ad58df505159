/** What the tools of agents take in a request to their model. */
import type { Ctx } from '../../access/index.ts'
import { callablesOfAgents, type Agent } from '../../agents/index.ts'
import type { Callable } from '../../tools/index.ts'
import { planOf } from '../decide.ts'
import type { AgentToolSize } from '../steps.ts'
import { isNeeded } from './request.ts'
import { loadTools, sizeOfTools, toolsOf } from './tool-loading.ts'

const accepted = { refused: new Map<string, string>(), mostTools: null, longestDescription: null }

/** For each of the caller's own agents. A few statements, however many agents. Checks no permission. */
export async function loadToolSizes(ctx: Ctx, agents: readonly Agent[]): Promise<AgentToolSize[]> {
  const callables = await callablesOfAgents(ctx, agents)
  return agents.map((agent, i) => sizesOf(agent, callables[i]!))
}

function sizesOf(agent: Agent, callables: readonly Callable[]): AgentToolSize {
  const plan = planOf({ settings: agent, stepCount: 0, nextStep: null })
  const own = callables.filter(({ id }) => plan.activeToolIds?.includes(id) ?? true)
  const active = new Map(own.map((tool) => [tool.runtimeName, tool]))
  const sizeIn = (toolLoading: Agent['toolLoading']) => {
    const request = { settings: { ...agent, toolLoading }, active, messages: [], accepted }
    const loaded = loadTools(request, (name) => isNeeded(agent, plan, name), 0)
    return sizeOfTools(toolsOf(loaded, accepted))
  }
  const all = sizeIn('ALL')
  return { all, first: agent.toolLoading === 'ALL' ? all : sizeIn(agent.toolLoading) }
}
