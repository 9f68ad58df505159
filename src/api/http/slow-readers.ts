/** Answers that wait for clients who do not read: each has a deadline, and all of them together a size. */
import type { ServerResponse } from 'node:http'

export interface ReaderLimits {
  /** How long a complete answer may take to be read, and a stream may stand still, in milliseconds. */
  unreadMs: number
  /** Bytes that may wait in all answers together; beyond that the oldest answers are cut off. */
  maxUnreadBytes: number
  /** How often is looked, in milliseconds. */
  lookMs: number
}

export const usualReaderLimits: ReaderLimits = {
  unreadMs: 60_000,
  maxUnreadBytes: 64 * 1024 * 1024,
  lookMs: 250,
}

/** What was seen of an answer that waits. */
interface Seen {
  since: number
  written: number
  waiting: number
  ended: boolean
}

/** Looks at the open responses and destroys those whose clients do not read. */
export function watchReaders(open: Iterable<ServerResponse>, limits: ReaderLimits): { stop(): void } {
  const seen = new WeakMap<ServerResponse, Seen>()
  const timer = setInterval(() => {
    let total = 0
    const waiting: { response: ServerResponse; since: number; bytes: number }[] = []
    for (const response of open) {
      const bytes = response.writableLength
      if (bytes === 0) seen.delete(response)
      else {
        const { since } = look(seen, response, bytes)
        waiting.push({ response, since, bytes })
        total += bytes
      }
    }
    const now = performance.now()
    waiting.sort((a, b) => a.since - b.since)
    for (const { response, since, bytes } of waiting) {
      if (total <= limits.maxUnreadBytes && now - since <= limits.unreadMs) continue
      response.destroy()
      total -= bytes
    }
  }, limits.lookMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

/** A stream that moves begins to wait anew; a complete answer waits since it was complete. */
function look(seen: WeakMap<ServerResponse, Seen>, response: ServerResponse, waiting: number): Seen {
  const written = response.socket?.bytesWritten ?? 0
  const ended = response.writableEnded
  const known = seen.get(response)
  const moved = known && !ended && (known.written !== written || known.waiting !== waiting)
  const now = performance.now()
  const next: Seen = {
    since: known && !moved && known.ended === ended ? known.since : now,
    written,
    waiting,
    ended,
  }
  seen.set(response, next)
  return next
}
