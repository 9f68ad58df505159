/** Waiting: between tries, and with an end. */
import { abortReason } from './errors.ts'

const firstMs = 100
const mostMs = 5_000

/** How long to wait after this many failures in a row, in milliseconds: longer each time, and never as long as others. */
export function waitAfter(failures: number): number {
  const ms = Math.min(firstMs * 2 ** Math.max(0, failures - 1), mostMs)
  return ms * (0.5 + Math.random())
}

/** Resolves after the time; rejects with the reason of the signal when that aborts before. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal))
    const stop = () => {
      clearTimeout(timer)
      reject(abortReason(signal!))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** A signal that aborts with this one, or after the time. Call `done` when it is not needed any more. */
export interface Limit {
  signal: AbortSignal
  isLate(): boolean
  /** Begins the time anew. */
  renew(): void
  done(): void
}

/** At most as long as a timer of JavaScript can be. */
const longest = 2 ** 31 - 1

export function limited(ms: number, outer?: AbortSignal): Limit {
  const own = new AbortController()
  let late = false
  const end = () => {
    late = true
    own.abort(new DOMException('The time is over', 'TimeoutError'))
  }
  const start = () => setTimeout(end, Math.min(ms, longest))
  let timer = start()
  const forward = () => own.abort(abortReason(outer!))
  if (outer?.aborted) forward()
  else outer?.addEventListener('abort', forward, { once: true })
  return {
    signal: own.signal,
    isLate: () => late,
    renew() {
      clearTimeout(timer)
      timer = start()
    },
    done() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', forward)
    },
  }
}
