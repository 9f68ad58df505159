/** Reads that follow events: one for all that come close together, never two at once, and again where one failed. */

export interface GatheredReads {
  /** Asks for a read within a moment. While one runs, another follows it. */
  ask(): void
  /** The same without the moment. */
  now(): void
  stop(): void
}

/**
 * A steady stream of events neither puts the read off again and again nor cuts off the one under way, as it would if each
 * event began anew. `read` must not reject; what it resolves with is after how many milliseconds it is tried again, or null.
 */
export function gatherReads(read: () => Promise<number | null>, ms = 150): GatheredReads {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isReading = false
  let isDue = false
  let isStopped = false
  const run = async () => {
    timer = undefined
    isReading = true
    const againMs = await read()
    isReading = false
    if (isStopped || (againMs === null && !isDue)) return
    isDue = false
    timer = setTimeout(() => void run(), againMs ?? ms)
  }
  const ask = () => {
    if (isStopped) return
    if (isReading) isDue = true
    else timer ??= setTimeout(() => void run(), ms)
  }
  return {
    ask,
    now() {
      clearTimeout(timer)
      timer = undefined
      if (isReading) isDue = true
      else if (!isStopped) void run()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
