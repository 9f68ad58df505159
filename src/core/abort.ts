/** Callbacks for abort signals, also for a signal that has already fired. */

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
