/** Sends requests over kept connections, so that none is ever repeated that may have taken effect. */
import { exchange, type Reply, type Send, type Trace } from './exchange.ts'
import type { Connection, Connections } from './connections.ts'
import { EgressError } from './egress-error.ts'
import type { Hop } from './redirects.ts'

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
