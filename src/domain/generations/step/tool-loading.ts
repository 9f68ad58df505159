/** Which tools of a step its model is sent: all, or search_tools with those that its history has found or called. Pure. */
import type { AgentSettings } from '../../agents/index.ts'
import {
  callsOf,
  charactersOfTools,
  defaultCharsPerToken,
  type Message,
  type ModelTool,
} from '../../models/index.ts'
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
import type { ToolSize } from '../steps.ts'
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
  settings: Pick<AgentSettings, 'toolLoading' | 'toolLoadingThreshold'>
  active: ReadonlyMap<string, Callable>
  messages: readonly Message[]
  accepted: AcceptedTools
}

/**
 * The tools of the request. It depends on the stored history alone, so every worker builds the same one. Always sent are the
 * tools that the step needs, and those that the run was started with. `reserved`: see `offeredOf`.
 */
export function loadTools(
  { settings, active, messages, accepted }: Sources,
  isNeeded: (name: string) => boolean,
  reserved: number,
): LoadedTools {
  // Settings of an earlier release have no toolLoading.
  const own = [...active.values()].filter(({ id }) => !isRunTool(id)).length
  if (settings.toolLoading !== 'SEARCH' || own <= settings.toolLoadingThreshold) {
    const offered = offeredOf(active, accepted, isNeeded, reserved)
    return { ...offered, search: null, callable: offered.tools }
  }
  const usable = offeredOf(active, { ...accepted, mostTools: null }, isNeeded, 0)
  const always = [...active].flatMap(([name, { id }]) => (isNeeded(name) || isRunTool(id) ? [name] : []))
  const loaded = new Map<string, Callable>()
  for (const name of [...always, ...namesIn(messages).slice(0, mostLoaded)]) {
    const tool = usable.tools.get(name)
    if (tool) loaded.set(name, tool)
  }
  const offered = offeredOf(loaded, accepted, isNeeded, reserved + 1)
  return {
    tools: offered.tools,
    leftOut: [...usable.leftOut, ...offered.leftOut],
    search: freeName(searchName, (name) => active.has(name)),
    callable: usable.tools,
  }
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
export const sizeOfTools = (tools: ModelTool[]): ToolSize => ({
  tools: tools.length,
  bytes: tools.length === 0 ? 0 : Buffer.byteLength(writeJson(tools)),
  tokens: Math.ceil(charactersOfTools(tools) / defaultCharsPerToken),
})
