/** The stream on which an older session is told things: whether a server has one, and whether it is lost. */
import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'

/**
 * `fetch` sees whether the server ever opened the stream. `isLost` is true of an error that says that an open stream
 * cannot be had again, because its session is gone. A server that refuses the first one, with whatever status, just has
 * none.
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
