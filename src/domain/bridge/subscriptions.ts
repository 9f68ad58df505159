/** Resources that clients of the bridge watch: asked of the upstreams that have them, told to whoever listens. */
import { sql } from 'drizzle-orm'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { oneAtATime } from '../../core/one-at-a-time.ts'
import { query } from '../../store/db/database.ts'
import { assertMay, type Ctx, type Services } from '../access/index.ts'
import { createResourceWatches, type ResourceWatches } from '../upstream/index.ts'
import type { Conversation } from './conversation.ts'
import { ownerOfResource, watcherOfResource } from './offers.ts'
import type { BridgeSurface } from './surface.ts'
import type { Surfaces } from './surfaces.ts'

/** Resources that one session, or one stream of the newer era, may watch. */
export const maxSubscriptions = 100
const maxUriLength = 2048

export interface Subscriptions {
  /**
   * What these resources have to tell, until the answer is called: `tell` gets what was asked for, and what the upstream
   * named, which may lie below it. What cannot be watched is left out. Follows changes of the agent and its upstreams.
   */
  watch(ctx: Ctx, agentId: string, uris: readonly string[], tell: Tell): () => void
  /** The same for whatever a session has subscribed to meanwhile, on any replica. */
  follow(ctx: Ctx, agentId: string, session: Conversation, tell: Tell): () => void
  close(): void
}

type Tell = (asked: string, updated: string) => void

/**
 * A session subscribes to a resource, on whichever replica it says so. Idempotent. Actions `tools:Call` and `tools:Read` on the tool that
 * it comes through. NOT_FOUND when nobody has it, INVALID when its upstream does not tell of changes or there are too many.
 */
export async function subscribeToResource(
  ctx: Ctx,
  { agent, offers }: BridgeSurface,
  session: Conversation,
  uri: string,
): Promise<void> {
  const toolId = ownerOfResource(offers, uri)
  if (toolId === null) throw notFound('resource', uri)
  for (const action of ['tools:Call', 'tools:Read'] as const)
    await assertMay(ctx, action, agent.projectId, `tool/${toolId}`, { agentId: agent.id })
  if (!offers.watchable.has(toolId)) throw invalidAt(['uri'], 'does not tell of its changes')
  if (uri.length > maxUriLength) throw invalidAt(['uri'], `has more than ${maxUriLength} characters`)
  const { threadId, expiresAt } = session
  // Two at once may pass the limit by one each, which harms nobody.
  const [row] = await query<{ full: boolean }>(
    ctx.db,
    sql`with over as (delete from resource_subscriptions where expires_at < now()),
      own as (select count(*) as n, bool_or(uri = ${uri}) as known from resource_subscriptions where thread_id = ${threadId}),
      made as (insert into resource_subscriptions (thread_id, uri, project_id, expires_at)
        select ${threadId}, ${uri}, ${agent.projectId}, to_timestamp(${expiresAt / 1000}::float8) from own
        where n < ${maxSubscriptions}::int on conflict do nothing)
      select n >= ${maxSubscriptions}::int and not known as "full" from own`,
  )
  if (row!.full) throw invalidAt(['uri'], `is one more than the ${maxSubscriptions} that a session may watch`)
  ctx.pubsub.publish([{ kind: 'signal', name: 'subscribed', id: threadId }])
}

/** A session is not interested any more. Idempotent; it needs no right to end what is its own. */
export async function unsubscribeFromResource(
  ctx: Ctx,
  { threadId }: Conversation,
  uri: string,
): Promise<void> {
  await query(ctx.db, sql`delete from resource_subscriptions where thread_id = ${threadId} and uri = ${uri}`)
  ctx.pubsub.publish([{ kind: 'signal', name: 'subscribed', id: threadId }])
}

/** What the streams of this process watch. */
export function createSubscriptions(services: Services, surfaces: Surfaces): Subscriptions {
  const watches = createResourceWatches(services)
  const open = new Set<Stream>()
  const unsubscribe = services.pubsub.subscribe((hint) => {
    const all = hint.kind === 'reconnected'
    if (!all && (hint.kind !== 'signal' || hint.name !== 'subscribed')) return
    for (const stream of open) if (all || stream.threadId === hint.id) stream.look()
  })
  const keep = (wanted: Wanted, threadId: string | null) => {
    const stream: Stream = { ...watchAll(surfaces, watches, wanted), threadId }
    open.add(stream)
    stream.look()
    return () => {
      open.delete(stream)
      stream.stop()
    }
  }
  return {
    watch(ctx, agentId, uris, tell) {
      const some = uris.slice(0, maxSubscriptions)
      return some.length > 0
        ? keep({ ctx, agentId, tell, read: () => Promise.resolve(some) }, null)
        : () => {}
    },
    follow: (ctx, agentId, { threadId }, tell) =>
      keep({ ctx, agentId, tell, read: () => subscribedBy(services, threadId) }, threadId),
    close() {
      unsubscribe()
      for (const stream of open) stream.stop()
      open.clear()
      watches.close()
    },
  }
}

interface Wanted {
  ctx: Ctx
  agentId: string
  tell: Tell
  /** The resources that are wanted now. */
  read(): Promise<readonly string[]>
}

interface Stream {
  threadId: string | null
  /** Watches what is wanted by now, and nothing else. */
  look(): void
  stop(): void
}

/** Before what is wanted is read again when it could not be, in milliseconds. */
const againMs = 1000

function watchAll(surfaces: Surfaces, watches: ResourceWatches, wanted: Wanted) {
  const { ctx, agentId, tell, read } = wanted
  const watching = new Map<string, { toolId: string; stop(): void }>()
  let stopped = false
  const follow = oneAtATime(async () => {
    const uris = await read()
    const offers = await surfaces.of(ctx, agentId).then(
      (surface) => surface.offers,
      // The agent is gone for this caller.
      (error: unknown) => (error instanceof AppError ? null : Promise.reject(error)),
    )
    if (stopped) return
    const owners = new Map(uris.map((uri) => [uri, offers && watcherOfResource(offers, uri)]))
    for (const [uri, { toolId, stop }] of watching) {
      if (owners.get(uri) === toolId) continue
      watching.delete(uri)
      stop()
    }
    for (const [uri, toolId] of owners)
      if (toolId && !watching.has(uri))
        watching.set(uri, { toolId, stop: watches.watch(toolId, uri, (updated) => tell(uri, updated)) })
  })
  const look = (): void => {
    if (!stopped) follow().catch(() => void setTimeout(look, againMs).unref())
  }
  const unwatch = surfaces.watch(agentId, (parts) => parts.includes('resources') && look())
  const stop = () => {
    stopped = true
    unwatch()
    for (const { stop: end } of watching.values()) end()
  }
  return { look, stop }
}

async function subscribedBy({ db }: Pick<Services, 'db'>, threadId: string): Promise<string[]> {
  const rows = await query<{ uri: string }>(
    db,
    sql`select uri from resource_subscriptions where thread_id = ${threadId} order by created_at limit ${maxSubscriptions}`,
  )
  return rows.map(({ uri }) => uri)
}
