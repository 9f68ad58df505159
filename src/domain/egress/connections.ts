/**
 * Connections that are kept between the requests of tools, one HTTP/1.1 request at a time on each. A kept connection
 * belongs to one scheme, host and port; its address was checked and pinned when it was opened, and it carries no
 * credentials of its own.
 */
import type { Socket } from 'node:net'
import { Client, type buildConnector } from 'undici'
import { elapsedSince, momentNow, type Moment } from '../../core/stopwatch.ts'

/** An unused connection is closed after this time, in milliseconds, or earlier when the server asks for it. */
const idleMs = 4000
/** The highest age of a connection, in milliseconds: after it the name is resolved and checked again. */
const maxAgeMs = 60_000
/** The most unused connections, to one origin and to all; further ones are closed after their response. */
const mostIdle = { ofOrigin: 32, ofAll: 256 }

export interface Connection {
  client: Client
  /** Bytes that the server has sent over the present socket. */
  bytesRead(): number
  /** How often a socket was opened: when it grows during a request, that request had a new socket. */
  opened(): number
  /** The response was received completely: the connection may be used again. */
  release(): void
  /** Closes the connection. */
  drop(): void
}

/** How many requests went over a kept connection, and how many of them met one that the server had closed. */
export interface ConnectionCounts {
  reused: number
  lost: number
}

export interface Connections {
  /** An open connection to the origin that was unused for less than `maxIdleMs`, or a new one. */
  take(origin: string, maxIdleMs: number): Connection
  counts: ConnectionCounts
  close(): Promise<void>
}

interface Idle extends Connection {
  since: Moment
}

export function createConnections(connect: buildConnector.connector): Connections {
  const idle = createIdle()
  const open = new Set<Client>()
  const make = (origin: string): Connection => {
    const bornAt = momentNow()
    const line = openLine(origin, connect)
    const { client } = line
    const connection: Connection = {
      ...line,
      release() {
        const isWorn = client.destroyed || elapsedSince(bornAt) > maxAgeMs
        if (isWorn || !idle.add(origin, connection)) connection.drop()
      },
      drop() {
        idle.remove(origin, client)
        open.delete(client)
        client.destroy().catch(() => {})
      },
    }
    open.add(client)
    // The server, or the time limit above, has closed it.
    client.on('disconnect', () => idle.has(origin, client) && connection.drop())
    return connection
  }
  return {
    counts: { reused: 0, lost: 0 },
    take(origin, maxIdleMs) {
      for (let newest = idle.newest(origin); newest; newest = idle.newest(origin)) {
        // The clock also counts the time for which this process was suspended.
        const unusedMs = elapsedSince(newest.since)
        if (unusedMs < maxIdleMs) {
          idle.remove(origin, newest.client)
          return newest
        }
        // It may still serve a request that allows more.
        if (unusedMs < idleMs) break
        newest.drop()
      }
      return make(origin)
    },
    async close() {
      await Promise.all([...open].map((client) => client.destroy()))
      open.clear()
    },
  }
}

/** A client of one socket, which it opens for its first request. */
function openLine(
  origin: string,
  connect: buildConnector.connector,
): Pick<Connection, 'client' | 'bytesRead' | 'opened'> {
  let socket: Socket | null = null
  let opened = 0
  const client = new Client(origin, {
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    connect: (options, callback) =>
      connect(options, (...result) => {
        opened++
        socket = result[1]
        callback(...result)
      }),
  })
  return { client, bytesRead: () => socket?.bytesRead ?? 0, opened: () => opened }
}

/** The unused connections of each origin, the one that was used last at the end. */
function createIdle() {
  const byOrigin = new Map<string, Idle[]>()
  let count = 0
  const indexOf = (origin: string, client: Client) =>
    byOrigin.get(origin)?.findIndex((one) => one.client === client) ?? -1
  return {
    newest: (origin: string) => byOrigin.get(origin)?.at(-1),
    has: (origin: string, client: Client) => indexOf(origin, client) >= 0,
    /** False when there are too many already. */
    add(origin: string, connection: Connection): boolean {
      const all = byOrigin.get(origin) ?? []
      if (all.length >= mostIdle.ofOrigin || count >= mostIdle.ofAll) return false
      all.push({ ...connection, since: momentNow() })
      byOrigin.set(origin, all)
      count++
      return true
    },
    remove(origin: string, client: Client): void {
      const at = indexOf(origin, client)
      if (at < 0) return
      const all = byOrigin.get(origin)!
      all.splice(at, 1)
      count--
      if (all.length === 0) byOrigin.delete(origin)
    },
  }
}
