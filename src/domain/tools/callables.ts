/** Finding what can be called: the callables of stored tools, and that of a call that was proposed earlier. */
import { invalidAt } from '../../core/errors.ts'
import { assertMay, type Ctx, type Services, type PlatformAction } from '../access/index.ts'
import { loadUpstreams } from '../upstream/index.ts'
import { loadAgentCallables } from './agent-callables.ts'
import { callablesOf, type Callable } from './callable.ts'
import { agentCallable } from './kinds/agent.ts'
import { isReadAction, readCallable } from './kinds/mcp-reads.ts'
import { lookAgain } from './outside.ts'
import { loadTools } from './registry.ts'
import type { CallKind, Tool } from './tool.ts'
import { loadVersion } from './versions.ts'

/** What of a tool call says which callable it names. */
export interface CallTarget {
  projectId: string
  toolId: string | null
  toolVersion: number | null
  runtimeName: string
  kind: CallKind | null
  action: string | null
  createdAt: Date
}

/** What is needed to know the names of tools. */
export type Callers = Pick<Services, 'db' | 'actions'>

/** Every operation that a platform tool may offer, in a fixed order. Action `tools:List`. */
export async function listActions(ctx: Ctx): Promise<PlatformAction[]> {
  await assertMay(ctx, 'tools:List', ctx.principal.projectId, 'tool/*')
  return [...ctx.actions.list()]
}

/** Everything that these tools offer, in their order. Two statements at most, however many tools. */
export async function loadCallables(services: Callers, tools: readonly Tool[]): Promise<Callable[]> {
  const upstreams = tools.filter((tool) => tool.mcp).map((tool) => tool.id)
  const known = upstreams.length > 0 ? await loadUpstreams(services.db, upstreams) : new Map()
  const catalogs = new Map([...known].map(([id, { catalog }]) => [id, catalog]))
  return tools.flatMap((tool) => callablesOf(tool, { actions: services.actions, catalogs }))
}

/** One of a tool's callables; null when it has none of that action. A tool with one name has the action null. */
export async function findCallable(
  services: Callers,
  tool: Tool,
  action: string | null,
): Promise<Callable | null> {
  const all = await loadCallables(services, [tool])
  return all.find((callable) => callable.action === action) ?? null
}

/** The callable that is meant. INVALID at `path`, naming what there is, for an action too many, too few or unknown. */
export async function callableMeant(
  services: Callers,
  tool: Tool,
  action: string | null,
  path: readonly string[],
): Promise<Callable> {
  const found = await findCallable(services, tool, action)
  if (found) return found
  const names = (await loadCallables(services, [tool])).flatMap((one) => one.action ?? [])
  const known = names.slice(0, maxNamesTold).join(', ') || 'none'
  const message =
    tool.kind === 'http' || tool.kind === 'client'
      ? `is for tools with several actions; this is an ${tool.kind} tool`
      : action === null
        ? `is required for this kind of tool; it has: ${known}`
        : `names no action of this tool; it has: ${known}`
  throw invalidAt([...path], message)
}

/** At most so many names are told to a caller who missed. */
const maxNamesTold = 20

/**
 * What a call names, as the tool or agent is now: an upstream is asked for its lists once more, so that nobody runs what has
 * changed since it was approved. Null when it, or that action of it, is gone.
 */
export async function currentCallable(services: Services, call: CallTarget): Promise<Callable | null> {
  if (call.kind === 'agent')
    return (await loadAgentCallables(services.db, call.projectId, [call.toolId!]))[0] ?? null
  const [tool] = await loadTools(services.db, [call.toolId!])
  if (!tool) return null
  if (isReadAction(call.action)) return readCallable(tool, call.action)
  if (tool.mcp) await lookAgain(services, tool.id)
  return findCallable(services, tool, call.action)
}

/**
 * What a call was proposed with: the tool's version of then, with what is said now of the action. Null when the action
 * is gone.
 */
export async function proposedCallable(services: Callers, call: CallTarget): Promise<Callable | null> {
  const { toolId: id, toolVersion: version, projectId, createdAt } = call
  if (call.kind === 'agent') {
    const agent = { id: id!, projectId, name: call.runtimeName, version: version! }
    return agentCallable({ ...agent, createdAt, updatedAt: createdAt })
  }
  const definition = await loadVersion(services.db, id!, version!)
  const tool = { ...definition, id: id!, version: version!, projectId, createdAt, updatedAt: createdAt }
  return readCallable(tool, call.action) ?? findCallable(services, tool, call.action)
}
