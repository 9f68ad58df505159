/** Telling clients what has changed of an agent, lists and single resources: the new era by subscription, the old one by a stream. */
import type { ServerEventBus } from '@modelcontextprotocol/server'
import { onAbort } from '../../core/abort.ts'
import { AppError } from '../../core/errors.ts'
import type { SurfacePart, Surfaces } from '../../domain/bridge/index.ts'

/** Streams that wait for news, over all clients of this process. */
const maxListeners = 5000
const keepAliveMs = 10_000
/** Messages that wait for a client that does not read. */
const maxWaiting = 500
const message = (method: string, params?: object) =>
  `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method, ...(params ? { params } : {}) })}\n\n`

/** Begins to tell which resources have changed: what was asked for, and what the upstream named. The answer ends it. */
export type Updates = (tell: (asked: string, updated: string) => void) => () => void

export interface Changes {
  /** The news of an agent for a subscription of the new era. */
  busOf(agentId: string, updates: Updates): ServerEventBus
  /** A stream of server-sent events for a client of the old era, until `gone`. */
  stream(agentId: string, gone: AbortSignal, updates: Updates): Response
  /** Throws UNAVAILABLE when too many listen. */
  assertQuota(): void
}

export function createChanges(surfaces: Surfaces): Changes {
  let listeners = 0
  const watch = (agentId: string, changed: (parts: SurfacePart[]) => void) => {
    listeners++
    const stop = surfaces.watch(agentId, changed)
    let stopped = false
    return () => {
      if (!stopped) listeners--
      stopped = true
      stop()
    }
  }
  return {
    busOf: (agentId, updates) => ({
      publish: () => {},
      subscribe(listener) {
        const stop = watch(agentId, (parts) =>
          parts.forEach((part) => listener({ kind: `${part}_list_changed` })),
        )
        // The newer era names the resources that were asked for, and no others.
        const stopUpdates = updates((uri) => listener({ kind: 'resource_updated', uri }))
        return () => (stop(), stopUpdates())
      },
    }),
    stream(agentId, gone, updates) {
      const listen = (send: (text: string) => void) => {
        const stop = watch(agentId, (parts) =>
          parts.forEach((part) => send(message(`notifications/${part}/list_changed`))),
        )
        const stopUpdates = updates((_asked, uri) =>
          send(message('notifications/resources/updated', { uri })),
        )
        return () => (stop(), stopUpdates())
      }
      return eventStream(listen, gone)
    },
    assertQuota() {
      if (listeners < maxListeners) return
      const details = { retryAfterMs: keepAliveMs }
      throw new AppError(
        'UNAVAILABLE',
        'Too many clients listen for changes; ask for the list instead.',
        details,
      )
    },
  }
}

/** What `listen` sends, as server-sent events, until the client goes or is sent away. */
function eventStream(listen: (send: (text: string) => void) => () => void, gone: AbortSignal): Response {
  let end = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      let ended = false
      const send = (text: string) => {
        if (ended) return
        // A client that does not read is sent away before what waits for it grows.
        if (controller.desiredSize! < -maxWaiting) end()
        else controller.enqueue(Buffer.from(text))
      }
      const stop = listen(send)
      const timer = setInterval(() => send(': keep-alive\n\n'), keepAliveMs)
      end = () => {
        if (ended) return
        ended = true
        stop()
        clearInterval(timer)
        controller.close()
      }
      send(': listening\n\n')
    },
    cancel: () => end(),
  })
  onAbort(gone, () => end())
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
  return new Response(body, { headers })
}
