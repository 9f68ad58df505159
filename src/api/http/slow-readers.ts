/** Closes responses that clients do not read: a deadline for each, and a memory limit for all together. */
import type { ServerResponse } from 'node:http'

export interface ReaderLimits {
  /** How long a client may take to read a complete response, or to read nothing of a stream, in milliseconds. */
  unreadMs: number
  /** The most unread bytes of all responses together. Beyond that the oldest responses are closed. */
  maxUnreadBytes: number
  /** How often the responses are checked, in milliseconds. */
  pollMs: number
}

export const defaultReaderLimits: ReaderLimits = {
  unreadMs: 60_000,
  maxUnreadBytes: 64 * 1024 * 1024,
  pollMs: 250,
}

/** The state of an unread response at the last check. */
interface Observed {
  since: number
  written: number
  waiting: number
  ended: boolean
}

/** Checks the open responses periodically and destroys those whose clients do not read. */
export function watchReaders(open: Iterable<ServerResponse>, limits: ReaderLimits): { stop(): void } {
  const observed = new WeakMap<ServerResponse, Observed>()
  const timer = setInterval(() => {
    let total = 0
    const waiting: { response: ServerResponse; since: number; bytes: number }[] = []
    for (const response of open) {
      const bytes = response.writableLength
      if (bytes === 0) observed.delete(response)
      else {
        const { since } = observe(observed, response, bytes)
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
  }, limits.pollMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

/** A stream of which anything was read starts to wait again; a complete response waits since it was complete. */
function observe(
  observed: WeakMap<ServerResponse, Observed>,
  response: ServerResponse,
  waiting: number,
): Observed {
  const written = response.socket?.bytesWritten ?? 0
  const ended = response.writableEnded
  const known = observed.get(response)
  const moved = known && !ended && (known.written !== written || known.waiting !== waiting)
  const now = performance.now()
  const next: Observed = {
    since: known && !moved && known.ended === ended ? known.since : now,
    written,
    waiting,
    ended,
  }
  observed.set(response, next)
  return next
}
