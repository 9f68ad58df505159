/**
 * Connections that are kept between the requests of tools, one HTTP/1.1 request at a time on each. None repeats what
 * may have taken effect.
 */
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { Client, type buildConnector } from 'undici'
import { elapsedSince, momentNow, type Moment } from '../../core/time.ts'
import { exchange, type Reply, type Send, type Trace } from './exchange.ts'
import { EgressError } from './egress-error.ts'
import type { Hop } from './request-rules.ts'

/** An unused connection is closed after this time, in milliseconds, or earlier when the server asks for it. */
const idleMs = 4000
/** The highest age of a connection, in milliseconds: after it the name is resolved and checked again. */
const maxAgeMs = 60_000
/**
 * A connection rests this long, in milliseconds, before it is used again: a system may keep the end of what a server has
 * written until the beginning is acknowledged, and acknowledges up to 40 ms late, or a round trip late when that is longer
 * (RFC 1122, 4.2.3.2 and 4.2.3.4). What was written with the last response has arrived by then.
 */
const rest = { leastMs: 50, roundTrips: 2, mostMs: 500 }
/** The most unused connections, of one owner to one origin and of all; further ones are closed after their response. */
const mostIdle = { ofKey: 64, ofAll: 256 }

interface Connection {
  client: Client
  /** Bytes that the server has sent over the present socket. */
  bytesRead(): number
  /** How often a socket was opened: when it grows during a request, that request had a new socket. */
  opened(): number
  isOpen(): boolean
  /** The response was received completely: the connection may be used again. */
  release(): void
  /** Closes the connection. */
  drop(): void
}

/**
 * How many requests went over a kept connection, how many of them met one that the server had closed, and how many
 * connections ended because of bytes that nobody had asked for.
 */
export interface ConnectionCounts {
  reused: number
  lost: number
  unasked: number
}

export interface Connections {
  /** An open connection of this owner to the origin that has rested and was unused for less than `maxIdleMs`, or a new one. */
  take(origin: string, keptFor: string | null, maxIdleMs: number): Promise<Connection>
  counts: ConnectionCounts
  close(): Promise<void>
}

interface Kept extends Connection {
  /** How long it rests before it is used again, in milliseconds. */
  restMs(): number
  /** A request is under way from now on. */
  begin(): void
}

interface Idle extends Kept {
  since: Moment
}

export function createConnections(
  connect: buildConnector.connector,
  onUnasked: (origin: string) => void,
): Connections {
  const idle = createIdle()
  const open = new Set<Client>()
  const counts = { reused: 0, lost: 0, unasked: 0 }
  const make = (origin: string, key: string | null): Connection => {
    const bornAt = momentNow()
    const line = openLine(origin, connect)
    const { client } = line
    let isBusy = true
    const connection: Kept = {
      ...line,
      begin: () => void (isBusy = true),
      release() {
        isBusy = false
        const isWorn = key === null || client.destroyed || elapsedSince(bornAt) > maxAgeMs
        if (isWorn || !idle.add(key, connection)) connection.drop()
      },
      drop() {
        if (key !== null) idle.remove(key, client)
        open.delete(client)
        client.destroy().catch(() => {})
      },
    }
    open.add(client)
    // The server, or the time limit above, has closed it.
    client.on('disconnect', (_origin, _targets, error) => {
      if (isUnasked(error, isBusy)) {
        counts.unasked++
        onUnasked(origin)
      }
      if (key !== null && idle.has(key, client)) connection.drop()
    })
    return connection
  }
  return {
    counts,
    async take(origin, keptFor, maxIdleMs) {
      const key = keptFor === null ? null : `${origin} ${keptFor}`
      for (;;) {
        const kept = key === null ? null : takeIdle(idle, key, maxIdleMs)
        if (!kept) return make(origin, key)
        const sockets = kept.opened()
        await pollTwice()
        if (kept.isOpen() && kept.opened() === sockets) {
          kept.begin()
          return kept
        }
        kept.drop()
      }
    },
    async close() {
      await Promise.all([...open].map((client) => client.destroy()))
      open.clear()
    },
  }
}

/** The newest connection that has rested and was unused for less than `maxIdleMs`; it is not idle any more. */
function takeIdle(idle: ReturnType<typeof createIdle>, key: string, maxIdleMs: number): Idle | null {
  for (const connection of idle.newestFirst(key)) {
    // While the machine sleeps nothing arrives, so that time is no rest.
    if (performance.now() - connection.since.monotonic < connection.restMs()) continue
    // The clock also counts the time for which this process was suspended.
    const unusedMs = elapsedSince(connection.since)
    if (unusedMs < maxIdleMs) {
      idle.remove(key, connection.client)
      return connection
    }
    // It may still serve a request that allows more.
    if (unusedMs < idleMs) break
    connection.drop()
  }
  return null
}

/**
 * Waits until the event loop has read what had arrived before now: no connection is used again in the turn in which it
 * became free, so that a second response, or the end of the connection, is noticed while nobody waits for one.
 */
async function pollTwice(): Promise<void> {
  await turn()
  await turn()
}

/** Whether undici has closed a socket because bytes came that belong to no request. */
function isUnasked(error: Error & { code?: string }, isBusy: boolean): boolean {
  return error.message === 'bad response' || (!isBusy && error.code?.startsWith('HPE_') === true)
}

/** A client of one socket, which it opens for its first request. */
function openLine(
  origin: string,
  connect: buildConnector.connector,
): Pick<Kept, 'client' | 'bytesRead' | 'opened' | 'isOpen' | 'restMs'> {
  let socket: Socket | null = null
  let opened = 0
  let openingMs = 0
  const client = new Client(origin, {
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    connect: (options, callback) => {
      const before = momentNow()
      connect(options, (...result) => {
        opened++
        openingMs = elapsedSince(before)
        socket = result[1]
        callback(...result)
      })
    },
  })
  return {
    client,
    bytesRead: () => socket?.bytesRead ?? 0,
    opened: () => opened,
    isOpen: () => socket !== null && !socket.destroyed,
    // To open a connection took a round trip at least.
    restMs: () => Math.min(rest.leastMs + rest.roundTrips * openingMs, rest.mostMs),
  }
}

/** The unused connections of each owner and origin, the one that was used last at the end. */
function createIdle() {
  const byKey = new Map<string, Idle[]>()
  let count = 0
  const indexOf = (key: string, client: Client) =>
    byKey.get(key)?.findIndex((one) => one.client === client) ?? -1
  return {
    newestFirst: (key: string) => byKey.get(key)?.toReversed() ?? [],
    has: (key: string, client: Client) => indexOf(key, client) >= 0,
    /** False when there are too many already. */
    add(key: string, connection: Kept): boolean {
      const all = byKey.get(key) ?? []
      if (all.length >= mostIdle.ofKey || count >= mostIdle.ofAll) return false
      all.push({ ...connection, since: momentNow() })
      byKey.set(key, all)
      count++
      return true
    },
    remove(key: string, client: Client): void {
      const at = indexOf(key, client)
      if (at < 0) return
      const all = byKey.get(key)!
      all.splice(at, 1)
      count--
      if (all.length === 0) byKey.delete(key)
    },
  }
}

/**
 * How long a connection may have been unused, in milliseconds. Servers close unused connections after five seconds or
 * more: one second keeps far away from a request that meets the close. A request that may be repeated risks nothing.
 */
const maxIdleMs = { once: 1000, repeatable: 4000 }

/**
 * A request that `isRepeatable` reuses any open connection, and is sent once more over a new connection when a kept one is
 * lost before a byte of the response. Any other request reuses only a connection that was unused for less than a
 * second, and is never sent twice: when that connection is lost, the error says that it was sent.
 */
export function keptSend(connections: Connections, keptFor: string | null, isRepeatable: boolean): Send {
  return async (hop, options) => {
    const limitMs = isRepeatable ? maxIdleMs.repeatable : maxIdleMs.once
    const { origin } = hop.url
    const first = attempt(await connections.take(origin, keptFor, limitMs), connections, hop, options)
    try {
      return await first.reply
    } catch (error) {
      if (!first.wasLostUnused() || error instanceof EgressError || options.signal?.aborted) throw error
      connections.counts.lost++
      if (!isRepeatable || !mayRepeat(options.trace)) throw error
      const fresh = await connections.take(origin, keptFor, 0)
      return attempt(fresh, connections, hop, options).reply
    }
  }
}

/** The lease of a call may have ended since it was sent the first time. */
function mayRepeat({ mayStart }: Trace): boolean {
  return mayStart?.() !== false
}

function attempt(
  connection: Connection,
  connections: Connections,
  hop: Hop,
  options: Parameters<Send>[1],
): { reply: Promise<Reply>; wasLostUnused(): boolean } {
  const before = { opened: connection.opened(), bytes: connection.bytesRead() }
  const isReused = () => before.opened > 0 && connection.opened() === before.opened
  if (before.opened > 0) connections.counts.reused++
  return {
    reply: exchange(connection.client, hop, { ...options, onEnd: ender(connection) }),
    /** Whether a kept connection ended before the server had sent anything over it in response. */
    wasLostUnused: () => isReused() && connection.bytesRead() === before.bytes,
  }
}

/** Keeps the connection after a complete response, and closes it after anything else. */
function ender(connection: Connection): (isComplete: boolean) => void {
  return (isComplete) => (isComplete ? connection.release() : connection.drop())
}
