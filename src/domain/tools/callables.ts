/** Finds what can be called: the callables of stored tools, and the callable that an earlier call named. */
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { type Callable, callablesOf, isRunTool, type CallKind, type Tool } from './callable.ts'
import { agentCallable, type AgentName } from './kinds/agent.ts'
import { invalidAt } from '../../core/errors.ts'
import { assertMay, type Ctx, type Services, type PlatformAction } from '../access/index.ts'
import { loadUpstreams, type Catalog } from '../upstream/index.ts'
import { isReadAction, readCallable } from './kinds/mcp.ts'
import { refreshNow } from './outside.ts'
import { loadTools } from './registry.ts'
import { hasActions } from './tool-kinds.ts'
import { loadVersion } from './versions.ts'

/** Agents of a project as callables, in the order of the ids; deleted agents are left out. Checks no permission. */
export async function loadAgentCallables(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<Callable[]> {
  if (ids.length === 0) return []
  const rows = await query<Omit<AgentName, 'createdAt' | 'updatedAt'> & { at: number }>(
    db,
    sql`
      select
        id,
        project_id as "projectId",
        name,
        version,
        (extract(epoch from updated_at) * 1000)::float8 as at
      from agents
      where id in ${[...ids]}
        and project_id = ${projectId}`,
  )
  return ids.flatMap((id) => {
    const row = rows.find((one) => one.id === id)
    if (!row) return []
    const { at, ...agent } = row
    return [agentCallable({ ...agent, createdAt: new Date(at), updatedAt: new Date(at) })]
  })
}

/** The fields of a tool call that identify its callable. */
export interface CallTarget {
  projectId: string
  toolId: string | null
  toolVersion: number | null
  runtimeName: string
  kind: CallKind | null
  action: string | null
  createdAt: Date
}

/** What is needed to compute the names of tools. */
export type NameSources = Pick<Services, 'db' | 'actions'>

/** Every operation that a platform tool may offer, in a fixed order. Action `tools:List`. */
export async function listActions(ctx: Ctx): Promise<PlatformAction[]> {
  await assertMay(ctx, 'tools:List', ctx.principal.projectId, 'tool/*')
  return [...ctx.actions.list()]
}

/** The catalogs of the mcp tools among these, by id. At most two statements, however many tools. */
export async function loadToolCatalogs(
  db: Services['db'],
  tools: readonly Tool[],
): Promise<Map<string, Catalog>> {
  const upstreams = tools.filter((tool) => tool.mcp).map((tool) => tool.id)
  const known = upstreams.length > 0 ? await loadUpstreams(db, upstreams) : new Map<string, never>()
  return new Map([...known].map(([id, { catalog }]) => [id, catalog]))
}

/** All callables of these tools, in their order, from the given catalogs or those of now. */
export async function loadCallables(
  services: NameSources,
  tools: readonly Tool[],
  given?: ReadonlyMap<string, Catalog>,
): Promise<Callable[]> {
  const catalogs = given ?? (await loadToolCatalogs(services.db, tools))
  return tools.flatMap((tool) => callablesOf(tool, { actions: services.actions, catalogs }))
}

/**
 * The callable of a tool with this action, from the given catalogs or those of now, or null. A tool with one name has the
 * action null.
 */
export async function findCallable(
  services: NameSources,
  tool: Tool,
  action: string | null,
  catalogs?: ReadonlyMap<string, Catalog>,
): Promise<Callable | null> {
  const all = await loadCallables(services, [tool], catalogs)
  return all.find((callable) => callable.action === action) ?? null
}

/**
 * The callable with this action. Throws INVALID at `path`, with the known actions, when the action is unknown, missing,
 * or given for a tool that has none.
 */
export async function requireCallable(
  services: NameSources,
  tool: Tool,
  action: string | null,
  path: readonly string[],
  catalogs?: ReadonlyMap<string, Catalog>,
): Promise<Callable> {
  const found = await findCallable(services, tool, action, catalogs)
  if (found) return found
  const names = (await loadCallables(services, [tool], catalogs)).flatMap((one) => one.action ?? [])
  const known = names.slice(0, maxNamesShown).join(', ') || 'none'
  const message = !hasActions(tool.kind)
    ? `is for mcp and platform tools; this is an ${tool.kind} tool: leave it out`
    : action === null
      ? `is required for this kind of tool; it has: ${known}`
      : `is no action of this tool; it has: ${known}`
  throw invalidAt([...path], message)
}

/** The most action names in an error message. */
const maxNamesShown = 20

/**
 * The callable of a call, as the tool or agent is now. The lists of an upstream are read again first, so that a call
 * does not run a definition that changed after its approval. `isUnchanged`: the tool has the version of the call still,
 * and is not read. Null when the tool, the agent or the action no longer exists.
 */
export async function currentCallable(
  services: Services,
  call: CallTarget,
  isUnchanged = false,
): Promise<Callable | null> {
  if (isRunTool(call.toolId)) return proposedCallable(services, call)
  if (call.kind === 'agent')
    return (await loadAgentCallables(services.db, call.projectId, [call.toolId!]))[0] ?? null
  const tool = isUnchanged
    ? await proposedTool(services.db, call)
    : (await loadTools(services.db, [call.toolId!]))[0]
  if (!tool) return null
  if (isReadAction(call.action)) return readCallable(tool, call.action)
  if (tool.mcp) await refreshNow(services, tool.id)
  return findCallable(services, tool, call.action)
}

/**
 * The callable that a call was proposed with: the stored version of the tool, with the action's present definition.
 * Null when the action no longer exists.
 */
export async function proposedCallable(services: NameSources, call: CallTarget): Promise<Callable | null> {
  const { toolId: id, toolVersion: version, projectId, createdAt } = call
  if (call.kind === 'agent') {
    const agent = { id: id!, projectId, name: call.runtimeName, version: version! }
    return agentCallable({ ...agent, createdAt, updatedAt: createdAt })
  }
  const tool = await proposedTool(services.db, call)
  return readCallable(tool, call.action) ?? findCallable(services, tool, call.action)
}

/** The stored version of the tool, which this process reads once. */
async function proposedTool(
  db: Services['db'],
  { toolId, toolVersion, projectId, createdAt }: CallTarget,
): Promise<Tool> {
  const [id, version] = [toolId!, toolVersion!]
  const definition = await loadVersion(db, id, version)
  return { ...definition, id, version, judgedVersion: version, projectId, createdAt, updatedAt: createdAt }
}
