/** Watches a legacy session's notification stream: whether the server has one, and whether its session is lost. */
import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'

/**
 * `fetch` notes whether the server ever opened the stream. `isLost` is true for an error that means an open stream
 * cannot be reopened, because its session no longer exists. A server that refuses the first attempt, with any status,
 * has no stream.
 */
export function watchStream(fetch: typeof globalThis.fetch): {
  fetch: typeof globalThis.fetch
  isLost(error: Error): boolean
} {
  let opened = false
  return {
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (init?.method === 'GET' && response.ok) opened = true
      return response
    },
    isLost(error) {
      if (!(error instanceof SdkHttpError)) return error.message.startsWith('Maximum reconnection attempts')
      return (
        opened &&
        error.code === SdkErrorCode.ClientHttpFailedToOpenStream &&
        [400, 404].includes(error.status)
      )
    },
  }
}
