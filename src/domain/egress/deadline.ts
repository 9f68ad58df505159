/** One signal out of a time limit and the caller's own signal. */
import { onAbort } from '../../core/abort.ts'
import { EgressError } from './egress-error.ts'

export interface Deadline {
  /** Aborts with an EgressError: TIMEOUT when the time is over, ABORTED when the caller gave up. */
  signal: AbortSignal
  /** Releases timer and listener; call it in a `finally`. */
  clear(): void
}

/** `AbortSignal.any` would do, but keeps every derived signal alive as long as the caller's (Node 20). */
export function startDeadline(timeoutMs: number, caller: AbortSignal | null): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(
    () => controller.abort(new EgressError('TIMEOUT', `No complete answer within ${timeoutMs} ms.`, false)),
    timeoutMs,
  )
  const forget = onAbort(caller, () =>
    controller.abort(new EgressError('ABORTED', 'The request was given up by its caller.', false)),
  )
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      forget()
    },
  }
}
