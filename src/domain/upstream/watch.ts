/** Resource subscriptions: one connection to each upstream, however many clients and resources are watched. */
import { setTimeout as pause } from 'node:timers/promises'
import { ProtocolError, type McpSubscription } from '@modelcontextprotocol/client'
import { onAbort } from '../../core/time.ts'
import type { Services } from '../access/index.ts'
import { borrowLink } from './wire/ask.ts'
import { faultOf, mayHaveLostSession } from './fault.ts'
import type { Link } from './wire/link.ts'
import { loadRows } from './state.ts'

export interface ResourceWatches {
  /**
   * Calls `updated` with a URI, the resource's own or one below it, whenever the upstream reports it as updated. Also
   * calls it once at the beginning and once after each gap in the connection, because updates before that were not
   * received. An unreachable upstream is tried again at growing intervals. Returns a function that ends the watch.
   * Checks no permission.
   */
  watch(upstreamId: string, uri: string, updated: (uri: string) => void): () => void
  close(): void
}

/** The most resources of one upstream that this process watches; updates of further ones are not reported. */
const maxUris = 1000
/** How often the configuration is checked for changes, in milliseconds. */
const tidyMs = 30_000
/** Pause before the upstream is tried again; it doubles each time, unless the connection lasted long. Milliseconds. */
const firstPauseMs = 250
const longestPauseMs = 60_000
const requestMs = 10_000

/** One upstream: its listeners by URI, and a signal for changes of that map. */
interface Watched {
  listeners: Map<string, Set<(uri: string) => void>>
  stop: AbortController
  /** Resolves the promise of `nextChange`. */
  changed(): void
  /** Resolves when the set of watched resources changes, or the watch ends. */
  nextChange(): Promise<void>
}

export function createResourceWatches(services: Services): ResourceWatches {
  const open = new Map<string, Watched>()
  const begin = (id: string): Watched => {
    const watched = newWatched()
    open.set(id, watched)
    void keepWatching(services, id, watched)
    return watched
  }
  const end = (id: string, watched: Watched) => {
    if (open.get(id) === watched) open.delete(id)
    watched.stop.abort()
    watched.changed()
  }
  return {
    watch(id, uri, updated) {
      const watched = open.get(id) ?? begin(id)
      const { listeners } = watched
      let over = false
      const listener = throttled((changed) => over || updated(changed))
      const known = listeners.get(uri)
      if (!known && listeners.size >= maxUris) {
        services.log.warn(
          { id, maxUris },
          'an upstream has too many watched resources; one more is not watched',
        )
        return () => {}
      }
      if (known) {
        known.add(listener)
        listener(uri)
      } else {
        listeners.set(uri, new Set([listener]))
        watched.changed()
      }
      return () => {
        over = true
        const all = listeners.get(uri)
        if (!all?.delete(listener) || all.size > 0) return
        listeners.delete(uri)
        if (listeners.size === 0) end(id, watched)
        else watched.changed()
      }
    },
    close() {
      for (const [id, watched] of open) end(id, watched)
    },
  }
}

function newWatched(): Watched {
  let wake = () => {}
  let next = new Promise<void>((resolve) => (wake = resolve))
  return {
    listeners: new Map(),
    stop: new AbortController(),
    changed() {
      wake()
      next = new Promise<void>((resolve) => (wake = resolve))
    },
    nextChange: () => next,
  }
}

async function keepWatching(services: Services, id: string, watched: Watched): Promise<void> {
  const { signal } = watched.stop
  let pauseMs = firstPauseMs
  while (!signal.aborted) {
    const since = Date.now()
    await watchOnce(services, id, watched).catch((error: unknown) =>
      services.log.debug({ err: error, id }, 'could not watch resources of an upstream; it is tried again'),
    )
    if (Date.now() - since > longestPauseMs) pauseMs = firstPauseMs
    await pause(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }
}

/** Returns when the connection, the configuration or the watch has ended. */
async function watchOnce(services: Services, id: string, watched: Watched): Promise<void> {
  const [row] = await loadRows(services.db, [id])
  // Nobody gets news over the connection of another person.
  if (!row || row.closedForMs > 0 || row.config.login) return
  const lease = await borrowLink(services, row, row.protocol)
  const link = lease.resource
  const down = new AbortController()
  link.onDown(() => down.abort())
  const unsubscribe = link.onUpdated((uri) => notifyListeners(watched, uri))
  const subscriber = (link.era === 'modern' ? overListen : overSession)(link, watched)
  const over = Promise.race([ended(watched.stop.signal), ended(down.signal), subscriber.lost])
  const ends = over.then(() => 'over' as const)
  try {
    for (;;) {
      const nextChange = watched.nextChange()
      await subscriber.follow()
      const woken = await Promise.race([ends, nextChange, pause(tidyMs, 'tidy' as const, { ref: false })])
      if (woken === 'over' || watched.stop.signal.aborted) return
      if (woken !== 'tidy') continue
      const [now] = await loadRows(services.db, [id])
      if (now?.configVersion !== row.configVersion) return
    }
  } catch (error) {
    if (mayHaveLostSession(faultOf(error))) link.giveUp()
    throw error
  } finally {
    unsubscribe()
    if (!down.signal.aborted) subscriber.stop()
    lease.release()
  }
}

/** Subscribes to resources, in the way of the connection's protocol. */
interface Subscriber {
  /** Subscribes to what is watched now, and calls the new listeners once. */
  follow(): Promise<void>
  /** Resolves when the subscription ends although the connection is open. */
  lost: Promise<void>
  stop(): void
}

/** A legacy session has one subscription for each resource. */
function overSession({ client }: Link, watched: Watched): Subscriber {
  const options = { timeout: requestMs, signal: watched.stop.signal }
  const known = new Set<string>()
  return {
    async follow() {
      for (const uri of watched.listeners.keys()) {
        if (known.has(uri)) continue
        // A refused subscription is tried again with the next change, and does not stop the others.
        const refused = await client.subscribeResource({ uri }, options).then(() => false, refusal)
        if (refused) continue
        known.add(uri)
        notifyListeners(watched, uri)
      }
      for (const uri of known) {
        if (watched.listeners.has(uri)) continue
        await client.unsubscribeResource({ uri }, options).catch(refusal)
        known.delete(uri)
      }
    },
    lost: new Promise(() => {}),
    stop() {
      for (const uri of known)
        void client.unsubscribeResource({ uri }, { timeout: requestMs }).catch(() => {})
    },
  }
}

/** In MCP 2026-07-28 one stream covers all resources; another list of resources needs another stream. */
function overListen({ client }: Link, watched: Watched): Subscriber {
  let stream: McpSubscription | null = null
  let subscribed = new Set<string>()
  let markLost = () => {}
  const lost = new Promise<void>((resolve) => (markLost = resolve))
  return {
    async follow() {
      const wanted = new Set(watched.listeners.keys())
      const begins = [...wanted].filter((uri) => !subscribed.has(uri))
      if (wanted.size === 0 || (begins.length === 0 && wanted.size === subscribed.size)) return
      const options = { timeout: requestMs, signal: watched.stop.signal }
      const next = await client.listen({ resourceSubscriptions: [...wanted] }, options)
      const older = stream
      stream = next
      subscribed = wanted
      void older?.close().catch(() => {})
      // Ignore the close of the previous stream: this function closed it.
      void next.closed.then(() => stream === next && markLost())
      for (const uri of begins) notifyListeners(watched, uri)
    },
    lost,
    stop: () => void stream?.close().catch(() => {}),
  }
}

/** The shortest interval between two reports about the same resource. Milliseconds. */
const everyMs = 100

/** Limits calls for each URI: the first passes at once; later ones within `everyMs` pass as one call at its end. */
function throttled(updated: (uri: string) => unknown): (uri: string) => void {
  const waiting = new Map<string, { again: boolean }>()
  const call = (uri: string): void => {
    const known = waiting.get(uri)
    if (known) return void (known.again = true)
    updated(uri)
    const one = { again: false }
    waiting.set(uri, one)
    const due = () => {
      waiting.delete(uri)
      if (one.again) call(uri)
    }
    setTimeout(due, everyMs).unref()
  }
  return call
}

/** True when the server itself refuses; rethrows any other error. */
function refusal(error: unknown): true {
  if (error instanceof ProtocolError) return true
  throw error
}

/** A server may report a resource below the one that was subscribed to. */
function notifyListeners({ listeners }: Watched, uri: string): void {
  for (const [watchedUri, all] of listeners) {
    const below = watchedUri.endsWith('/') ? watchedUri : `${watchedUri}/`
    if (uri === watchedUri || uri.startsWith(below)) for (const listener of all) listener(uri)
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve))
}
