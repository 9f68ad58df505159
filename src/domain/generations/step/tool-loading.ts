/** Which tools of a step its model is sent: all, or search_tools with those that its history has found or called. */
import type { Ctx } from '../../access/index.ts'
import { callablesOfAgents, type Agent, type AgentSettings } from '../../agents/index.ts'
import { isStop, planOf, type StepPlan } from '../decide.ts'
import { callsOf, defaultCharsPerToken, type Message, type ModelTool } from '../../models/index.ts'
import {
  freeName,
  isRunTool,
  isSearchName,
  namesFound,
  searchDefinition,
  searchName,
  shownSchema,
  type Callable,
} from '../../tools/index.ts'
import { writeJson } from '../../../core/json.ts'
import type { AgentToolSize, ToolSize } from '../steps.ts'
import { offeredOf, shownDescription, type AcceptedTools, type OfferedTools } from './left-out.ts'

/** Tools that stay in the requests, the newest first: a long thread must not become the catalog again. */
const mostLoaded = 128

export interface LoadedTools extends OfferedTools {
  /** The name of the search; null: all tools are sent. */
  search: string | null
  /** What the model may call: the tools that are sent, and those that a search finds. */
  callable: Map<string, Callable>
}

interface Sources {
  settings: AgentSettings
  plan: StepPlan
  active: ReadonlyMap<string, Callable>
  messages: readonly Message[]
  accepted: AcceptedTools
}

/**
 * The tools of the request. It depends on the stored history alone, so every worker builds the same one. Always sent are the
 * tools that the step needs, and those that the run was started with. `reserved`: see `offeredOf`.
 */
export function loadTools(
  { settings, plan, active, messages, accepted }: Sources,
  reserved: number,
): LoadedTools {
  const needed = (name: string) => isNeeded(settings, plan, name)
  // Settings of an earlier release have no toolLoading.
  const own = [...active.values()].filter(({ id }) => !isRunTool(id)).length
  if (settings.toolLoading !== 'SEARCH' || own <= settings.toolLoadingThreshold) {
    const offered = offeredOf(active, accepted, needed, reserved)
    return { ...offered, search: null, callable: offered.tools }
  }
  const usable = offeredOf(active, { ...accepted, mostTools: null }, needed, 0)
  const always = [...active].flatMap(([name, { id }]) => (needed(name) || isRunTool(id) ? [name] : []))
  const loaded = new Map<string, Callable>()
  for (const name of [...always, ...namesIn(messages).slice(0, mostLoaded)]) {
    const tool = usable.tools.get(name)
    if (tool) loaded.set(name, tool)
  }
  const offered = offeredOf(loaded, accepted, needed, reserved + 1)
  return {
    tools: offered.tools,
    leftOut: [...usable.leftOut, ...offered.leftOut],
    search: freeName(searchName, (name) => active.has(name)),
    callable: usable.tools,
  }
}

/** Whether the step cannot be made without the tool: it is forced, or ends the run. */
export function isNeeded(settings: AgentSettings, plan: StepPlan, name: string): boolean {
  const isForced = plan.final === null && 'tool' in plan.toolChoice && plan.toolChoice.tool === name
  return isForced || isStop(settings, name)
}

/** The names that these messages have found or called, each once, the newest first. */
function namesIn(messages: readonly Message[]): string[] {
  const names = messages.toReversed().flatMap((message) => {
    if (message.role === 'assistant') return callsOf(message.parts).map(({ name }) => name)
    if (message.role !== 'tool') return []
    return message.parts.flatMap((part) =>
      isSearchName(part.name) ? namesFound(part.structuredContent) : [],
    )
  })
  return [...new Set(names)]
}

/** The tools as they are sent, the search first. */
export function toolsOf({ tools, search, callable }: LoadedTools, accepted: AcceptedTools): ModelTool[] {
  const listed = [...tools].map(([name, tool]) => ({
    name,
    description: shownDescription(tool.description, accepted),
    inputSchema: shownSchema(tool),
  }))
  if (search === null) return listed
  const next = 'What it finds is among your tools from your next answer on.'
  const { description, inputSchema } = searchDefinition([...callable.values()], next)
  return [{ name: search, description: shownDescription(description, accepted), inputSchema }, ...listed]
}

/** What these tools take in a request. */
export function sizeOfTools(tools: ModelTool[]): ToolSize {
  const bytes = tools.length === 0 ? 0 : Buffer.byteLength(writeJson(tools))
  return { tools: tools.length, bytes, tokens: Math.ceil(bytes / defaultCharsPerToken) }
}

const acceptsAll: AcceptedTools = { refused: new Map(), mostTools: null, longestDescription: null }

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
    const settings = { ...agent, toolLoading }
    const loaded = loadTools({ settings, plan, active, messages: [], accepted: acceptsAll }, 0)
    return sizeOfTools(toolsOf(loaded, acceptsAll))
  }
  const all = sizeIn('ALL')
  return { all, first: agent.toolLoading === 'ALL' ? all : sizeIn(agent.toolLoading) }
}
