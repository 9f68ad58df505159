/** The runtime names that an agent's tools have: checked when it is saved, and again later, since upstreams change. */
import { writeJson } from '../../core/json.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import type { Ctx, Services } from '../access/index.ts'
import {
  collisions,
  loadAgentCallables,
  loadCallables,
  loadTools,
  runtimeName,
  type Callable,
} from '../tools/index.ts'
import { boundIds, type Agent, type AgentSettings } from './agent.ts'

/**
 * Checks settings against the registry. Throws INVALID with every fault. `own` is an agent that may call itself, with
 * the name that it gets by this change.
 */
export async function checkTools(
  services: Pick<Services, 'db' | 'actions'>,
  projectId: string,
  settings: AgentSettings,
  own?: { id: string; name: string },
): Promise<void> {
  const { toolIds, agentIds = [], clientTools = [] } = settings
  const loaded = (await loadTools(services.db, toolIds)).filter((tool) => tool.projectId === projectId)
  const callees = await loadAgentCallables(services.db, projectId, agentIds)
  const issues = [
    ...missing('toolIds', toolIds, loaded, 'is not the id of a tool of this project'),
    ...missing('agentIds', agentIds, callees, 'is not the id of an agent of this project'),
  ]
  const names = new Set<string>()
  const take = (path: string, name: string) => {
    const message = `gives two tools the runtime name ${writeJson(name)}`
    if (names.has(name)) issues.push({ path: ['input', path], message })
    names.add(name)
  }
  const callables = await loadCallables(services, loaded)
  for (const callable of callables) take('toolIds', callable.runtimeName)
  for (const agent of callees)
    take('agentIds', agent.id === own?.id ? runtimeName([own.name]) : agent.runtimeName)
  clientTools.forEach(({ name }, i) => {
    const message = 'is the runtime name of another tool of this run'
    if (names.has(name)) issues.push({ path: ['input', 'clientTools', String(i), 'name'], message })
    names.add(name)
  })
  // While ids are missing, unknown names are not reported: the missing tools may have them.
  // The tools of an upstream that was never reached are unknown: any name with its prefix may exist.
  const unseen = loaded.filter((tool) => tool.mcp && !callables.some((one) => one.id === tool.id))
  const mayBe = (name: string) => unseen.some((tool) => name.startsWith(`${tool.name}_`))
  if (issues.length === 0) issues.push(...unknownNames(settings, (name) => names.has(name) || mayBe(name)))
  if (issues.length > 0) throw invalid(issues)
}

/**
 * For each of the caller's own agents, the runtime names that more than one of its tools has now, each once. A saved
 * agent has none; a later change of an upstream may cause some. Calls go to the first tool of that name.
 */
export async function collidingNames(ctx: Ctx, agents: readonly Agent[]): Promise<string[][]> {
  const all = await callablesOfAgents(ctx, agents)
  return all.map((own) => collisions(own.map(({ runtimeName: name }) => name)))
}

/** For each of the caller's own agents, what it may call, in its order. Runs four statements, however many agents. */
export async function callablesOfAgents(ctx: Ctx, agents: readonly Agent[]): Promise<Callable[][]> {
  const every = (ids: (agent: Agent) => string[]) => [...new Set(agents.flatMap(ids))]
  const tools = await loadTools(
    ctx.db,
    every((agent) => agent.toolIds),
  )
  const callees = every((agent) => agent.agentIds ?? [])
  const callables = [
    ...(await loadCallables(ctx, tools)),
    ...(await loadAgentCallables(ctx.db, ctx.principal.projectId, callees)),
  ]
  const byId = new Map<string, Callable[]>()
  for (const one of callables) byId.set(one.id, [...(byId.get(one.id) ?? []), one])
  return agents.map((agent) => boundIds(agent).flatMap((id) => byId.get(id) ?? []))
}

function missing(path: string, ids: string[], found: { id: string }[], message: string): Issue[] {
  const known = new Set(found.map((one) => one.id))
  return ids.flatMap((id, i) => (known.has(id) ? [] : [{ path: ['input', path, String(i)], message }]))
}

function unknownNames(settings: AgentSettings, isKnown: (name: string) => boolean): Issue[] {
  const used = [
    { name: 'tool' in settings.toolChoice ? settings.toolChoice.tool : null, path: ['toolChoice', 'tool'] },
    ...settings.stepRules.map((rule, i) => ({
      name: rule.toolChoice && 'tool' in rule.toolChoice ? rule.toolChoice.tool : null,
      path: ['stepRules', String(i), 'toolChoice', 'tool'],
    })),
    ...settings.stopConditions.map((stop, i) => ({
      name: stop.hasToolCall as string | null,
      path: ['stopConditions', String(i), 'hasToolCall'],
    })),
  ]
  return used
    .filter(({ name }) => name !== null && !isKnown(name))
    .map(({ path }) => ({
      path: ['input', ...path],
      message: "is not the runtime name of any of the agent's tools",
    }))
}
