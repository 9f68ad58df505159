/** What the tools of agents take in a request to their model. */
import type { Ctx } from '../../access/index.ts'
import type { Agent } from '../../agents/index.ts'
import {
  loadAgentCallables,
  loadCallables,
  loadTools as readTools,
  type Callable,
} from '../../tools/index.ts'
import { planOf } from '../decide.ts'
import type { ToolSize } from '../steps.ts'
import { isNeeded } from './request.ts'
import { loadTools, sizeOfTools, toolsOf } from './tool-loading.ts'

/** With all tools, and in the first request of a run. */
export interface ToolSizes {
  all: ToolSize
  first: ToolSize
}

const accepted = { refused: new Map<string, string>(), mostTools: null, longestDescription: null }

/** For each of the caller's own agents. A few statements, however many agents. Checks no permission. */
export async function loadToolSizes(ctx: Ctx, agents: readonly Agent[]): Promise<ToolSizes[]> {
  const every = (ids: (agent: Agent) => string[]) => [...new Set(agents.flatMap(ids))]
  const tools = await readTools(
    ctx.db,
    every(({ toolIds }) => toolIds),
  )
  const callees = every(({ agentIds }) => agentIds)
  const callables = [
    ...(await loadCallables(ctx, tools)),
    ...(await loadAgentCallables(ctx.db, ctx.principal.projectId, callees)),
  ]
  return agents.map((agent) => sizesOf(agent, callables))
}

function sizesOf(agent: Agent, callables: readonly Callable[]): ToolSizes {
  const sizeIn = (toolLoading: Agent['toolLoading']) => {
    const settings = { ...agent, toolLoading }
    const plan = planOf({ settings, stepCount: 0, nextStep: null })
    const ids = [...agent.toolIds, ...agent.agentIds]
    const isActive = (id: string) => ids.includes(id) && (plan.activeToolIds?.includes(id) ?? true)
    const own = callables.filter(({ id }) => isActive(id)).map((tool) => [tool.runtimeName, tool] as const)
    const request = { settings, active: new Map(own), messages: [], accepted }
    return sizeOfTools(
      toolsOf(
        loadTools(request, (name) => isNeeded(settings, plan, name), 0),
        accepted,
      ),
    )
  }
  const all = sizeIn('ALL')
  return { all, first: agent.toolLoading === 'ALL' ? all : sizeIn(agent.toolLoading) }
}
