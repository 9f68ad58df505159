/** Acting on a signal, also on one that has fired before anybody listened. */

/**
 * Calls back once when the signal fires, at once when it has already. The answer ends the listening: call it when what
 * the signal would have ended is over, for signals outlive what they are given to.
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
