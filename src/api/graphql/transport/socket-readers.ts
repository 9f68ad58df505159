/**
 * Terminates sockets whose clients do not read, so that unread bytes are bounded for each socket and for all together.
 */
import type { WebSocket } from 'ws'
import type { SocketLimits } from './socket-limits.ts'

/** Time between checks, in milliseconds. */
const checkMs = 1000
/** Time in which the unread bytes of a socket above its limit must decrease, in milliseconds. */
const stalledMs = 5000
/** Time in which they must be back below the limit, in milliseconds. */
const slowMs = 60_000

interface Backlog {
  since: number
  decreasedAt: number
  bytes: number
}

/**
 * Checks the sockets every second, until `stop`. Terminates a socket with more than `bufferedBytes` unread when they do
 * not decrease for 5 s, or stay above it for 60 s, and the sockets with the most while all together have more than
 * `maxUnreadBytes`. Their clients resume by cursor.
 */
export function watchSockets(
  sockets: Iterable<WebSocket>,
  { bufferedBytes, maxUnreadBytes }: SocketLimits,
): { stop(): void } {
  const backlogs = new WeakMap<WebSocket, Backlog>()
  const timer = setInterval(() => {
    const now = performance.now()
    const waiting: { socket: WebSocket; bytes: number }[] = []
    let total = 0
    for (const socket of sockets) {
      const bytes = socket.bufferedAmount
      if (bytes > bufferedBytes && isStuck(backlogs, socket, bytes, now)) socket.terminate()
      else if (bytes > 0) {
        waiting.push({ socket, bytes })
        total += bytes
      }
      if (bytes <= bufferedBytes) backlogs.delete(socket)
    }
    if (total <= maxUnreadBytes) return
    waiting.sort((a, b) => b.bytes - a.bytes)
    for (const { socket, bytes } of waiting) {
      if (total <= maxUnreadBytes) return
      socket.terminate()
      total -= bytes
    }
  }, checkMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

function isStuck(
  backlogs: WeakMap<WebSocket, Backlog>,
  socket: WebSocket,
  bytes: number,
  now: number,
): boolean {
  const known = backlogs.get(socket) ?? { since: now, decreasedAt: now, bytes }
  const decreasedAt = bytes < known.bytes ? now : known.decreasedAt
  backlogs.set(socket, { since: known.since, decreasedAt, bytes })
  return now - decreasedAt >= stalledMs || now - known.since >= slowMs
}
