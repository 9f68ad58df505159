/** Watches a legacy session's notification stream: whether the server has one, and whether its session is lost. */
import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import type { Answers } from './answers.ts'
import { isTracked } from './wire.ts'

/** A stream that ends sooner, without a message, is one more that ended at once. Milliseconds. */
const shortLifeMs = 5000
/** Pause before a stream is opened again after the first that ended at once; it doubles with each further one. Milliseconds. */
const firstPauseMs = 200
const longestPauseMs = 5 * 60_000

/**
 * `fetch` notes whether the server ever opened the stream. `isLost` is true for an error that means an open stream
 * cannot be reopened, because its session no longer exists. A server that refuses the first attempt, with any status,
 * has no stream. `schedule` opens a stream again: the rest of a call's answer at once, and a notification stream ever later
 * while it ends at once.
 */
export function watchStream(answers: Answers): {
  fetch: typeof globalThis.fetch
  isLost(error: Error): boolean
  schedule(reopen: () => void, delayMs: number): () => void
} {
  let opened = false
  let short = 0
  let openedAt = 0
  let heardBefore = 0
  return {
    async fetch(input, init) {
      const response = await answers.fetch(input, init)
      if (init?.method !== 'GET' || isTracked() || !response.ok) return response
      opened = true
      openedAt = performance.now()
      heardBefore = answers.heard()
      return response
    },
    isLost(error) {
      if (!(error instanceof SdkHttpError)) return error.message.startsWith('Maximum reconnection attempts')
      return (
        opened &&
        error.code === SdkErrorCode.ClientHttpFailedToOpenStream &&
        [400, 404, 410].includes(error.status)
      )
    },
    schedule(reopen, delayMs) {
      let waitMs = delayMs
      if (!isTracked()) {
        const isShort = performance.now() - openedAt < shortLifeMs && answers.heard() === heardBefore
        short = isShort ? short + 1 : 0
        waitMs = Math.max(delayMs, Math.min(firstPauseMs * 2 ** Math.min(short, 20), longestPauseMs))
      }
      const timer = setTimeout(reopen, waitMs)
      timer.unref()
      return () => clearTimeout(timer)
    },
  }
}
