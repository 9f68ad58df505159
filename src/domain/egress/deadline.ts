/** Combines a time limit and the signal of the caller into one signal. */
import { onAbort } from '../../core/abort.ts'
import { EgressError } from './egress-error.ts'

export interface Deadline {
  /** Aborts with an EgressError: TIMEOUT after the time limit, ABORTED when the caller aborted. */
  signal: AbortSignal
  /** Releases timer and listener; call it in a `finally`. */
  clear(): void
}

/**
 * Used instead of `AbortSignal.any`, which in Node 20 keeps every derived signal alive as long as the caller's signal.
 */
export function startDeadline(timeoutMs: number, caller: AbortSignal | null): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(
    () => controller.abort(new EgressError('TIMEOUT', `No complete response within ${timeoutMs} ms.`, false)),
    timeoutMs,
  )
  const removeListener = onAbort(caller, () =>
    controller.abort(new EgressError('ABORTED', 'The caller aborted the request.', false)),
  )
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      removeListener()
    },
  }
}
