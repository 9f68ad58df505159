/** Callbacks for abort signals, also for a signal that has already fired, and their time limits. */

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
