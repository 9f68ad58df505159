/** Resource subscriptions of MCP clients: watched at the upstreams that serve the resources, reported to open streams. */
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { oneAtATime } from '../../core/async-work.ts'
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { assertMay, type Ctx, type Services } from '../access/index.ts'
import { createResourceWatches, type ResourceWatches } from '../upstream/index.ts'
import { ownerOfResource, subscriptionOwner } from './features.ts'
import type { McpSession } from './session.ts'
import type { BridgeSurface } from './surface.ts'
import type { Surfaces } from './surfaces.ts'

/** Resources that one session, or one modern stream, may subscribe to. */
export const maxSubscriptions = 100
const maxUriLength = 2048

/** Receives the URI that was subscribed to, and the URI that the upstream reported, which may be a sub-resource. */
export type OnResourceUpdated = (subscribed: string, updated: string) => void

export interface ResourceSubscriptions {
  /**
   * Reports updates of these resources until the returned function is called. Skips what no upstream reports. Follows
   * changes of the agent and its upstreams.
   */
  watch(ctx: Ctx, agentId: string, uris: readonly string[], onUpdated: OnResourceUpdated): () => void
  /** The same for the resources that a session subscribes to meanwhile, on any replica. */
  watchSession(ctx: Ctx, agentId: string, session: McpSession, onUpdated: OnResourceUpdated): () => void
  close(): void
}

/**
 * Subscribes a session to a resource; every replica learns of it. Idempotent. Actions `tools:Call` and `tools:Read` on
 * the resource's tool. NOT_FOUND when no upstream serves it, INVALID when its upstream reports no changes or the
 * session has too many subscriptions.
 */
export async function subscribeToResource(
  ctx: Ctx,
  { agent, features }: BridgeSurface,
  session: McpSession,
  uri: string,
): Promise<void> {
  const toolId = ownerOfResource(features, uri)
  if (toolId === null) throw notFound('resource', uri)
  for (const action of ['tools:Call', 'tools:Read'] as const)
    await assertMay(ctx, action, agent.projectId, `tool/${toolId}`, { agentId: agent.id })
  if (!features.subscribable.has(toolId)) throw invalidAt(['uri'], 'has an upstream that reports no changes')
  if (uri.length > maxUriLength) throw invalidAt(['uri'], `has more than ${maxUriLength} characters`)
  const { threadId, expiresAt } = session
  // Two requests at once may each pass the limit by one, which does no harm.
  const [row] = await query<{ full: boolean }>(
    ctx.db,
    sql`with expired as (delete from resource_subscriptions where expires_at < now()),
      own as (
        select count(*) as n, bool_or(uri = ${uri}) as known
        from resource_subscriptions where thread_id = ${threadId}
      ),
      made as (
        insert into resource_subscriptions (thread_id, uri, project_id, expires_at)
        select ${threadId}, ${uri}, ${agent.projectId}, to_timestamp(${expiresAt / 1000}::float8) from own
        where n < ${maxSubscriptions}::int on conflict do nothing
      )
      select n >= ${maxSubscriptions}::int and not known as "full" from own`,
  )
  if (row!.full) throw invalidAt(['uri'], `exceeds the ${maxSubscriptions} subscriptions of a session`)
  ctx.pubsub.publish([{ kind: 'signal', name: 'subscribed', id: threadId }])
}

/** Ends a session's subscription to a resource. Idempotent. Needs no permission: the subscription is the session's own. */
export async function unsubscribeFromResource(
  ctx: Ctx,
  { threadId }: McpSession,
  uri: string,
): Promise<void> {
  await query(ctx.db, sql`delete from resource_subscriptions where thread_id = ${threadId} and uri = ${uri}`)
  ctx.pubsub.publish([{ kind: 'signal', name: 'subscribed', id: threadId }])
}

/** The subscriptions of the streams that are open in this process. */
export function createResourceSubscriptions(services: Services, surfaces: Surfaces): ResourceSubscriptions {
  const watches = createResourceWatches(services)
  const open = new Set<SubscribedStream>()
  const unsubscribe = services.pubsub.subscribe((hint) => {
    const all = hint.kind === 'reconnected'
    if (!all && (hint.kind !== 'signal' || hint.name !== 'subscribed')) return
    for (const stream of open) if (all || stream.threadId === hint.id) stream.refresh()
  })
  const start = (source: SubscriptionSource, threadId: string | null) => {
    const stream: SubscribedStream = { ...watchResources(surfaces, watches, source), threadId }
    open.add(stream)
    stream.refresh()
    return () => {
      open.delete(stream)
      stream.stop()
    }
  }
  return {
    watch(ctx, agentId, uris, onUpdated) {
      const some = uris.slice(0, maxSubscriptions)
      return some.length > 0
        ? start({ ctx, agentId, onUpdated, loadUris: () => Promise.resolve(some) }, null)
        : () => {}
    },
    watchSession: (ctx, agentId, { threadId }, onUpdated) =>
      start({ ctx, agentId, onUpdated, loadUris: () => subscribedUris(services, threadId) }, threadId),
    close() {
      unsubscribe()
      for (const stream of open) stream.stop()
      open.clear()
      watches.close()
    },
  }
}

interface SubscriptionSource {
  ctx: Ctx
  agentId: string
  onUpdated: OnResourceUpdated
  /** The resources that are subscribed to now. */
  loadUris(): Promise<readonly string[]>
}

interface SubscribedStream {
  threadId: string | null
  /** Starts and ends watches so that they match the current subscriptions. */
  refresh(): void
  stop(): void
}

/** Delay before a failed refresh is repeated, in milliseconds. */
const retryMs = 1000

function watchResources(
  surfaces: Surfaces,
  watches: ResourceWatches,
  { ctx, agentId, onUpdated, loadUris }: SubscriptionSource,
): Omit<SubscribedStream, 'threadId'> {
  const watching = new Map<string, { toolId: string; stop(): void }>()
  let stopped = false
  const update = oneAtATime(async () => {
    const uris = await loadUris()
    const features = await surfaces.of(ctx, agentId).then(
      (surface) => surface.features,
      // The caller no longer sees the agent.
      (error: unknown) => (error instanceof AppError ? null : Promise.reject(error)),
    )
    if (stopped) return
    const owners = new Map(uris.map((uri) => [uri, features && subscriptionOwner(features, uri)]))
    for (const [uri, { toolId, stop }] of watching) {
      if (owners.get(uri) === toolId) continue
      watching.delete(uri)
      stop()
    }
    for (const [uri, toolId] of owners)
      if (toolId && !watching.has(uri))
        watching.set(uri, { toolId, stop: watches.watch(toolId, uri, (updated) => onUpdated(uri, updated)) })
  })
  const refresh = (): void => {
    if (!stopped) update().catch(() => void setTimeout(refresh, retryMs).unref())
  }
  const unwatch = surfaces.watch(agentId, (lists) => lists.includes('resources') && refresh())
  const stop = () => {
    stopped = true
    unwatch()
    for (const { stop: end } of watching.values()) end()
  }
  return { refresh, stop }
}

async function subscribedUris({ db }: Pick<Services, 'db'>, threadId: string): Promise<string[]> {
  const rows = await query<{ uri: string }>(
    db,
    sql`select uri from resource_subscriptions
      where thread_id = ${threadId}
      order by created_at
      limit ${maxSubscriptions}`,
  )
  return rows.map(({ uri }) => uri)
}
