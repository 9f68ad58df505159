/** Sockets whose clients do not read: what waits for one of them, and for all together, is bounded. */
import type { WebSocket } from 'ws'
import type { SocketLimits } from './socket-limits.ts'

const lookMs = 1000
/** What waits must have become less within so long, in milliseconds. */
const stillMs = 5000
/** And little again within so long. */
const slowMs = 60_000

interface Seen {
  since: number
  moved: number
  waiting: number
}

/**
 * Looks at the sockets every second. Ended are those with more than `bufferedBytes` waiting that do not get less, or not
 * fast enough, and the largest while all together hold more than `maxUnreadBytes`. Their clients resume by cursor.
 */
export function watchSockets(
  sockets: Iterable<WebSocket>,
  { bufferedBytes, maxUnreadBytes }: SocketLimits,
): { stop(): void } {
  const seen = new WeakMap<WebSocket, Seen>()
  const timer = setInterval(() => {
    const now = performance.now()
    const waiting: { socket: WebSocket; bytes: number }[] = []
    let total = 0
    for (const socket of sockets) {
      const bytes = socket.bufferedAmount
      if (bytes > bufferedBytes && isStuck(seen, socket, bytes, now)) socket.terminate()
      else if (bytes > 0) {
        waiting.push({ socket, bytes })
        total += bytes
      }
      if (bytes <= bufferedBytes) seen.delete(socket)
    }
    if (total <= maxUnreadBytes) return
    waiting.sort((a, b) => b.bytes - a.bytes)
    for (const { socket, bytes } of waiting) {
      if (total <= maxUnreadBytes) return
      socket.terminate()
      total -= bytes
    }
  }, lookMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

function isStuck(seen: WeakMap<WebSocket, Seen>, socket: WebSocket, waiting: number, now: number): boolean {
  const known = seen.get(socket) ?? { since: now, moved: now, waiting }
  const moved = waiting < known.waiting ? now : known.moved
  seen.set(socket, { since: known.since, moved, waiting })
  return now - moved >= stillMs || now - known.since >= slowMs
}
