/** Reads that follow events: one for all that come close together, and never two at once. */

export interface Gathered {
  /** Asks for a read within a moment. While one runs, another follows it. */
  ask(): void
  /** The same without the moment. */
  now(): void
  stop(): void
}

/**
 * A steady stream of events neither puts the read off again and again nor cuts off the one under way, as it would if each
 * event began anew. `read` must not reject.
 */
export function gathered(read: () => Promise<void>, ms = 150): Gathered {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isReading = false
  let isDue = false
  let isStopped = false
  const run = async () => {
    timer = undefined
    isReading = true
    await read()
    isReading = false
    if (!isDue) return
    isDue = false
    ask()
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
