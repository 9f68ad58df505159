/** The surfaces of agents as this process knows them: read once, believed for a moment, renewed by the bell. */
import { AppError, notFound } from '../../core/errors.ts'
import { oneAtATime } from '../../core/one-at-a-time.ts'
import { allows, assertMay, type Ctx, type Services, type Policy } from '../access/index.ts'
import { loadAgents, type Agent } from '../agents/index.ts'
import { loadUpstreams } from '../upstream/index.ts'
import { loadCallables, loadTools } from '../tools/index.ts'
import { offersOf } from './offers.ts'
import { offersFor } from './relay.ts'
import { bridgeSurface, type BridgeEntry, type BridgeSurface } from './surface.ts'

/** How long a surface is believed when no bell rings. A call looks at the tool itself all the same. */
const believedMs = 5000
const cacheSize = 1000

/** The lists of a surface that change each by itself. */
export type SurfacePart = 'tools' | 'prompts' | 'resources'

export interface Surfaces {
  /**
   * The surface of an agent as the caller may use it. Action `agents:Get`. NOT_FOUND for an agent that does not exist
   * for the caller or is not open to MCP clients; FORBIDDEN when the caller's key is bound to another agent.
   */
  of(ctx: Ctx, agentId: string): Promise<BridgeSurface>
  /** Calls back when lists of the agent have become others, heard from any replica. The answer ends it. */
  watch(agentId: string, changed: (what: SurfacePart[]) => void): () => void
  /** Forgets what is known of an agent: somebody has seen a newer version. */
  forget(agentId: string): void
  close(): void
}

export function createSurfaces(services: Services): Surfaces {
  const cache = new Map<string, { surface: BridgeSurface; until: number }>()
  const watchers = new Set<{ agentId: string; look: () => void }>()
  const lookAll = () => watchers.forEach((watcher) => watcher.look())
  const unsubscribe = services.pubsub.subscribe((hint) => {
    if (hint.kind === 'signal' && hint.name === 'surface') {
      for (const [agentId, { surface }] of cache)
        if (surface.agent.projectId === hint.id) cache.delete(agentId)
    } else if (hint.kind === 'reconnected') cache.clear()
    else return
    lookAll()
  })
  const backstop = setInterval(lookAll, believedMs)
  backstop.unref()
  const load = async (agentId: string): Promise<BridgeSurface> => {
    const known = cache.get(agentId)
    if (known && known.until > Date.now()) return known.surface
    const [agent] = await loadAgents(services.db, [agentId])
    if (!agent) throw notFound('agent', agentId)
    const tools = new Map((await loadTools(services.db, agent.toolIds)).map((tool) => [tool.id, tool]))
    const inOrder = agent.toolIds.flatMap((id) => tools.get(id) ?? [])
    const active = agent.activeToolIds
    const served = inOrder.filter(({ id, mcp }) => mcp && (active === null || active.includes(id)))
    const [callables, upstreams] = await Promise.all([
      loadCallables(services, inOrder),
      served.length > 0
        ? loadUpstreams(
            services.db,
            served.map((tool) => tool.id),
          )
        : null,
    ])
    const catalogs = new Map([...(upstreams ?? [])].map(([id, { catalog }]) => [id, catalog]))
    const surface = bridgeSurface(agent, callables, offersOf(served, catalogs))
    if (cache.size >= cacheSize) cache.clear()
    cache.set(agentId, { surface, until: Date.now() + believedMs })
    return surface
  }
  return {
    async of(ctx, agentId) {
      const surface = await load(agentId)
      await assertReaches(ctx, surface.agent)
      return asSeenBy(ctx.principal.policy, surface)
    },
    watch(agentId, changed) {
      const watcher = { agentId, look: watching(() => load(agentId), changed) }
      watchers.add(watcher)
      watcher.look()
      return () => void watchers.delete(watcher)
    },
    forget: (agentId) => void cache.delete(agentId),
    close() {
      unsubscribe()
      clearInterval(backstop)
    },
  }
}

/** Throws unless the agent exists for the caller, is open to MCP clients, and the key is not bound to another one. */
async function assertReaches(ctx: Ctx, agent: Agent): Promise<void> {
  const { principal } = ctx
  const exists = principal.installation || principal.projectId === agent.projectId
  if (!exists) throw notFound('agent', agent.id)
  const what = { action: 'agents:Get', projectId: agent.projectId, resource: `agent/${agent.id}` } as const
  await assertMay(ctx, what.action, what.projectId, what.resource, { agentId: agent.id })
  if (!agent.mcp?.enabled) throw notFound('agent', agent.id)
}

const seen = new WeakMap<BridgeSurface, WeakMap<Policy, BridgeSurface>>()

/** The surface under a policy, worked out once for as long as both are believed. */
function asSeenBy(policy: Policy, surface: BridgeSurface): BridgeSurface {
  const known = seen.get(surface) ?? new WeakMap<Policy, BridgeSurface>()
  seen.set(surface, known)
  const found = known.get(policy) ?? narrowed(policy, surface)
  known.set(policy, found)
  return found
}

/** What the caller may not call is not on its list. */
function narrowed(policy: Policy, surface: BridgeSurface): BridgeSurface {
  const may = (entry: BridgeEntry) =>
    entry.kind === 'wait' ||
    (entry.kind === 'tool'
      ? allows(policy, 'tools:Call', `tool/${entry.toolId}`)
      : allows(policy, 'generations:Start', `agent/${surface.agent.id}`))
  const offers = offersFor(policy, surface.offers)
  if (surface.entries.every(may)) return offers === surface.offers ? surface : { ...surface, offers }
  const entries = surface.entries.filter(may)
  return { ...surface, offers, entries, byName: new Map(entries.map((entry) => [entry.name, entry])) }
}

/** One look at a time; the first only learns what there is. A surface that is gone is an empty one. */
function watching(read: () => Promise<BridgeSurface>, changed: (what: SurfacePart[]) => void): () => void {
  let known: Hashes | null = null
  const look = oneAtATime(async () => {
    const now = await read().then(hashesOf, (error: unknown) => (error instanceof AppError ? gone : known))
    const parts = known && now ? surfaceParts.filter((part) => known![part] !== now[part]) : []
    if (parts.length > 0) changed(parts)
    known = now
  })
  return () => void look()
}

type Hashes = Record<SurfacePart, string>

const surfaceParts: SurfacePart[] = ['tools', 'prompts', 'resources']
const gone: Hashes = { tools: 'gone', prompts: 'gone', resources: 'gone' }

function hashesOf({ hash, offers }: BridgeSurface): Hashes {
  return { tools: hash, prompts: offers.promptsHash, resources: offers.resourcesHash }
}
