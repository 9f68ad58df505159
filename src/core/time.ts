/** Time: the clock that everything in this process goes by, elapsed time, and time limits of signals. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

/** That of this process, which may be wrong: where there is a database server, all replicas go by its clock. */
export const systemClock: Clock = { now: () => Date.now() }

/** Elapsed time that also counts while the machine is suspended. */
export interface Moment {
  monotonic: number
  wall: number
}

export function momentNow(): Moment {
  return { monotonic: performance.now(), wall: Date.now() }
}

/**
 * Milliseconds since the moment by the clock that shows more: the monotonic clock stops while a machine sleeps, and
 * the wall clock may be set back.
 */
export function elapsedSince({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall)
}

/**
 * Calls `act` once when the signal fires, or at once when it has already fired. Returns a function that removes the
 * listener: call it when the work is done, because a signal usually outlives the work it is passed to.
 */
export function onAbort(signal: AbortSignal | null | undefined, act: () => void): () => void {
  if (!signal) return () => {}
  if (signal.aborted) {
    act()
    return () => {}
  }
  signal.addEventListener('abort', act, { once: true })
  return () => signal.removeEventListener('abort', act)
}

/**
 * A signal that fires with a TimeoutError after this time in milliseconds, or with the reason of the other signal. It is used
 * instead of `AbortSignal.any` with `AbortSignal.timeout`: in Node 20 such a time limit never comes once garbage was collected.
 */
export function withinTime(limitMs: number, signal: AbortSignal | null | undefined): AbortSignal {
  const controller = new AbortController()
  const forget = onAbort(signal, () => controller.abort(signal?.reason))
  const end = () => {
    forget()
    controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
  }
  setTimeout(end, limitMs).unref()
  return controller.signal
}
