/** Listens to upstreams that report changes: one process keeps their sessions and listen streams open. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { McpSubscription } from '@modelcontextprotocol/client'
import { onAbort } from '../../core/time.ts'
import type { Lease } from '../../core/pool.ts'
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Services } from '../access/index.ts'
import { borrowLink } from './wire/ask.ts'
import { noticeChange, type Follower } from './changes.ts'
import type { Link } from './wire/link.ts'
import { loadRows, type UpstreamRow } from './state.ts'

interface Listener {
  configVersion: number
  stop(): void
}

/** At most this many upstreams are listened to at once; the others are refreshed by the clock alone. */
const maxListeners = 400
/** How often upstreams that another process listens to now are dropped, in milliseconds. */
const tidyMs = 30_000
/**
 * Pause before a stream that ended is opened again; it doubles each time, unless the stream lived long. Milliseconds.
 */
const firstPauseMs = 250
const longestPauseMs = 60_000
const longLifeMs = 60_000
const ackMs = 10_000

export function createFollower(services: Services): Follower & { stop(): void } {
  const name = randomUUID()
  const listeners = new Map<string, Listener>()
  let stopped = false

  const drop = (id: string, listener?: Listener) => {
    const known = listeners.get(id)
    if (!known || (listener && known !== listener)) return
    listeners.delete(id)
    known.stop()
  }
  const follow = async (id: string) => {
    const [row] = await loadRows(services.db, [id])
    if (!row || stopped) return drop(id)
    if (listeners.get(id)?.configVersion === row.configVersion) return
    drop(id)
    if (listeners.size >= maxListeners) return
    const lease = await borrowLink(services, row, row.protocol).catch(() => null)
    if (!lease) return
    if (stopped || listeners.has(id)) return lease.release()
    const listener: Listener | null = listenOver(services, row, lease, () => drop(id, listener ?? undefined))
    if (listener) listeners.set(id, listener)
    else lease.release()
  }
  const tidy = async () => {
    if (listeners.size === 0) return
    const rows = await query<{ id: string }>(
      services.db,
      sql`
        select id
        from upstreams
        where id in ${[...listeners.keys()]}
          and listener = ${name}`,
    )
    const ours = new Set(rows.map((row) => row.id))
    for (const id of listeners.keys()) if (!ours.has(id)) drop(id)
  }
  const timer = setInterval(() => void tidy().catch(() => {}), tidyMs)
  timer.unref()
  return {
    name,
    follow,
    stop() {
      stopped = true
      clearInterval(timer)
      for (const id of listeners.keys()) drop(id)
    },
  }
}

/**
 * Null when the upstream reports no changes. `onEnded` is called when the connection or the stream has ended for good.
 */
function listenOver(
  services: Services,
  row: UpstreamRow,
  lease: Lease<Link>,
  onEnded: () => void,
): Listener | null {
  const link = lease.resource
  const filter = filterOf(link)
  if (!filter) return null
  const stop = new AbortController()
  const refresh = noticeChange(services, row.id)
  link.onDown(() => {
    if (stop.signal.aborted) return
    onEnded()
    // Changes since the connection was lost were not received.
    refresh()
  })
  if (link.era === 'modern')
    void keepListening(link, filter, stop.signal, refresh).then(() => {
      if (!stop.signal.aborted) onEnded()
    })
  return {
    configVersion: row.configVersion,
    stop() {
      stop.abort()
      lease.release()
    },
  }
}

interface Filter {
  toolsListChanged?: true
  promptsListChanged?: true
  resourcesListChanged?: true
}

function filterOf({ facts }: Link): Filter | null {
  const tells = (list: string) =>
    (facts.capabilities[list] as { listChanged?: unknown } | undefined)?.listChanged === true
  const filter: Filter = {
    ...(tells('tools') ? { toolsListChanged: true } : {}),
    ...(tells('prompts') ? { promptsListChanged: true } : {}),
    ...(tells('resources') ? { resourcesListChanged: true } : {}),
  }
  return Object.keys(filter).length > 0 ? filter : null
}

/**
 * Reopens the listen stream whenever the server ends it. Each time it is open the lists are read again: what changed before,
 * since they were last read, was not told.
 */
async function keepListening(
  link: Link,
  filter: Filter,
  signal: AbortSignal,
  refresh: () => void,
): Promise<void> {
  let pauseMs = firstPauseMs
  while (!signal.aborted) {
    const since = Date.now()
    const subscription = await link.client.listen(filter, { timeout: ackMs, signal }).catch(() => null)
    if (subscription) {
      refresh()
      await ended(subscription, signal)
    }
    if (Date.now() - since > longLifeMs) pauseMs = firstPauseMs
    await pause(pauseMs, undefined, { signal }).catch(() => {})
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }
}

async function ended(subscription: McpSubscription, signal: AbortSignal): Promise<void> {
  const forget = onAbort(signal, () => void subscription.close().catch(() => {}))
  await subscription.closed
  forget()
}
