/** A fetch whose streams of server-sent events break after so many events, as at a connection that is cut. */

/** Also while a test replaces that of the page. */
const realFetch = globalThis.fetch

export interface CutFetch {
  fetch: typeof fetch
  /** Whether a stream was broken; else it had ended before. */
  wasCut(): boolean
}

/**
 * Breaks the first stream after `events` events; what is no stream of events, and later ones, come whole. `as`: whether the
 * client sees an error, or an end that came too early, as behind some proxies.
 */
export function cutAfter(events: number, as: 'error' | 'end' = 'error'): CutFetch {
  let cut = false
  let isFirst = true
  return {
    wasCut: () => cut,
    async fetch(input, init) {
      const response = await realFetch(input, init)
      if (
        !isFirst ||
        !response.body ||
        !response.headers.get('content-type')?.startsWith('text/event-stream')
      )
        return response
      isFirst = false
      let left = events
      let rest = ''
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          for (;;) {
            const end = rest.indexOf('\n\n') + 2
            if (left === 0) {
              cut = true
              await reader.cancel()
              return as === 'end' ? controller.close() : controller.error(new TypeError('terminated'))
            }
            if (end > 1) {
              controller.enqueue(new TextEncoder().encode(rest.slice(0, end)))
              rest = rest.slice(end)
              left--
              return
            }
            const { done, value } = await reader.read()
            if (done) return controller.close()
            rest += value
          }
        },
      })
      const { status, headers } = response
      return new Response(body, { status, headers })
    },
  }
}
