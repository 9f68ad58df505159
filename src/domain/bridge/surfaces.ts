/** Cached surfaces of agents: loaded once, believed for a few seconds, reloaded when a replica reports a change. */
import { AppError, notFound } from '../../core/errors.ts'
import { oneAtATime } from '../../core/async-work.ts'
import { allows, assertMay, type Ctx, type Services, type Policy } from '../access/index.ts'
import { loadAgents, type Agent } from '../agents/index.ts'
import { loadCallables, loadToolCatalogs, loadTools } from '../tools/index.ts'
import { featuresOf } from './features.ts'
import { visibleFeatures } from './relay.ts'
import { bridgeSurface, type BridgeEntry, type BridgeSurface } from './surface.ts'

/** How long a cached surface is used without a hint, in milliseconds. A call checks the tool itself all the same. */
const cacheMs = 5000
const cacheSize = 1000

/** The lists of a surface; each has a list_changed notification of its own. */
export type SurfaceList = 'tools' | 'prompts' | 'resources'

export interface Surfaces {
  /**
   * The surface of an agent as the caller may use it. Action `agents:Get`. NOT_FOUND for an agent that does not exist
   * for the caller or is not open to MCP clients; FORBIDDEN when the caller's key is bound to another agent.
   */
  of(ctx: Ctx, agentId: string): Promise<BridgeSurface>
  /** Reports which lists of an agent have changed, on any replica, until the returned function is called. */
  watch(agentId: string, onChanged: (lists: SurfaceList[]) => void): () => void
  /** Drops the cached surface of an agent: a caller has seen that it is stale. */
  invalidate(agentId: string): void
  close(): void
}

export function createSurfaces(services: Services): Surfaces {
  const cache = new Map<string, { surface: BridgeSurface; until: number }>()
  const watchers = new Set<{ agentId: string; check: () => void }>()
  const checkAll = () => watchers.forEach((watcher) => watcher.check())
  const unsubscribe = services.pubsub.subscribe((hint) => {
    if (hint.kind === 'signal' && hint.name === 'surface') {
      for (const [agentId, { surface }] of cache)
        if (surface.agent.projectId === hint.id) cache.delete(agentId)
    } else if (hint.kind === 'reconnected') cache.clear()
    else return
    checkAll()
  })
  const poll = setInterval(checkAll, cacheMs)
  poll.unref()
  const load = async (agentId: string): Promise<BridgeSurface> => {
    const cached = cache.get(agentId)
    if (cached && cached.until > Date.now()) return cached.surface
    const surface = await loadSurface(services, agentId)
    if (cache.size >= cacheSize) cache.clear()
    cache.set(agentId, { surface, until: Date.now() + cacheMs })
    return surface
  }
  return {
    async of(ctx, agentId) {
      const surface = await load(agentId)
      await assertVisible(ctx, surface.agent)
      return visibleSurface(ctx.principal.policy, surface)
    },
    watch(agentId, onChanged) {
      const watcher = { agentId, check: changeCheck(() => load(agentId), onChanged) }
      watchers.add(watcher)
      watcher.check()
      return () => void watchers.delete(watcher)
    },
    invalidate: (agentId) => void cache.delete(agentId),
    close() {
      unsubscribe()
      clearInterval(poll)
    },
  }
}

/** Reads agent, tools and upstream catalogs. NOT_FOUND when the agent does not exist. */
async function loadSurface(services: Services, agentId: string): Promise<BridgeSurface> {
  const [agent] = await loadAgents(services.db, [agentId])
  if (!agent) throw notFound('agent', agentId)
  const tools = new Map((await loadTools(services.db, agent.toolIds)).map((tool) => [tool.id, tool]))
  const inOrder = agent.toolIds.flatMap((id) => tools.get(id) ?? [])
  const active = agent.activeToolIds
  const relayed = inOrder.filter(({ id, mcp }) => mcp && (active === null || active.includes(id)))
  const catalogs = await loadToolCatalogs(services.db, inOrder)
  const callables = await loadCallables(services, inOrder, catalogs)
  const hashes = new Map([...catalogs].map(([id, { hash }]) => [id, hash || null]))
  return bridgeSurface(agent, callables, featuresOf(relayed, catalogs), hashes)
}

/** Throws unless the agent exists for the caller, is open to MCP clients, and the key is not bound to another agent. */
async function assertVisible(ctx: Ctx, agent: Agent): Promise<void> {
  const { principal } = ctx
  const exists = principal.installation || principal.projectId === agent.projectId
  if (!exists) throw notFound('agent', agent.id)
  await assertMay(ctx, 'agents:Get', agent.projectId, `agent/${agent.id}`, { agentId: agent.id })
  if (!agent.mcp?.enabled) throw notFound('agent', agent.id)
}

const visibleSurfaces = new WeakMap<BridgeSurface, WeakMap<Policy, BridgeSurface>>()

/** The surface under a policy, computed once while both objects are cached. */
function visibleSurface(policy: Policy, surface: BridgeSurface): BridgeSurface {
  const byPolicy = visibleSurfaces.get(surface) ?? new WeakMap<Policy, BridgeSurface>()
  visibleSurfaces.set(surface, byPolicy)
  const visible = byPolicy.get(policy) ?? narrowSurface(policy, surface)
  byPolicy.set(policy, visible)
  return visible
}

/** Leaves out what the policy does not allow to be called. */
function narrowSurface(policy: Policy, surface: BridgeSurface): BridgeSurface {
  const may = (entry: BridgeEntry) => {
    if (entry.kind === 'tool') return allows(policy, 'tools:Call', `tool/${entry.toolId}`)
    return entry.kind !== 'agent' || allows(policy, 'generations:Start', `agent/${surface.agent.id}`)
  }
  const features = visibleFeatures(policy, surface.features)
  if ([...surface.byName.values()].every(may))
    return features === surface.features ? surface : { ...surface, features }
  const byName = new Map([...surface.byName].filter(([, entry]) => may(entry)))
  return { ...surface, features, entries: surface.entries.filter(may), byName }
}

/** Compares hashes with those of the check before; the first check only records them. A deleted agent has empty lists. */
function changeCheck(
  read: () => Promise<BridgeSurface>,
  onChanged: (lists: SurfaceList[]) => void,
): () => void {
  let known: ListHashes | null = null
  const check = oneAtATime(async () => {
    const now = await read().then(hashesOf, (error: unknown) => (error instanceof AppError ? deleted : known))
    const before = known
    known = now
    const changed = before && now ? surfaceLists.filter((list) => before[list] !== now[list]) : []
    if (changed.length > 0) onChanged(changed)
  })
  return () => void check()
}

type ListHashes = Record<SurfaceList, string>

const surfaceLists: SurfaceList[] = ['tools', 'prompts', 'resources']
const deleted: ListHashes = { tools: 'deleted', prompts: 'deleted', resources: 'deleted' }

function hashesOf({ hash, features }: BridgeSurface): ListHashes {
  return { tools: hash, prompts: features.promptsHash, resources: features.resourcesHash }
}
