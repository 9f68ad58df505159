/** Notifications of changed lists and resources: events for a modern `subscriptions/listen`, a stream for legacy clients. */
import type { ServerEventBus } from '@modelcontextprotocol/server'
import { writeJson } from '../../../core/json.ts'
import { onAbort } from '../../../core/time.ts'
import { AppError } from '../../../core/errors.ts'
import type { OnResourceUpdated, SurfaceList, Surfaces } from '../../../domain/bridge/index.ts'

/** Streams that this process keeps open, over all clients. */
const maxStreams = 5000
const keepAliveMs = 10_000
/** Messages that may wait for a client that does not read. */
const maxUnread = 500

/** Starts watching the resources of one stream; the returned function stops it. */
export type WatchResources = (onUpdated: OnResourceUpdated) => () => void

export interface ChangeNotifications {
  /** The events of an agent for a modern subscription. */
  eventBus(agentId: string, watchResources: WatchResources): ServerEventBus
  /** A stream of server-sent events for a legacy client, until `ended` aborts. */
  stream(agentId: string, ended: AbortSignal, watchResources: WatchResources): Response
  /** Throws UNAVAILABLE when this process has too many open streams. */
  assertQuota(): void
}

export function createChangeNotifications(surfaces: Pick<Surfaces, 'watch'>): ChangeNotifications {
  let streams = 0
  const watch = (agentId: string, onChanged: (lists: SurfaceList[]) => void) => {
    streams++
    const stop = surfaces.watch(agentId, onChanged)
    let stopped = false
    return () => {
      if (!stopped) streams--
      stopped = true
      stop()
    }
  }
  return {
    eventBus: (agentId, watchResources) => ({
      publish: () => {},
      subscribe(listener) {
        const stop = watch(agentId, (lists) =>
          lists.forEach((list) => listener({ kind: `${list}_list_changed` })),
        )
        // A modern stream may name only the resources that its filter names.
        const stopResources = watchResources((uri) => listener({ kind: 'resource_updated', uri }))
        return () => (stop(), stopResources())
      },
    }),
    stream(agentId, ended, watchResources) {
      const subscribe = (send: (text: string) => void) => {
        const stop = watch(agentId, (lists) =>
          lists.forEach((list) => send(notification(`notifications/${list}/list_changed`))),
        )
        const stopResources = watchResources((_subscribed, uri) =>
          send(notification('notifications/resources/updated', { uri })),
        )
        return () => (stop(), stopResources())
      }
      return eventStream(subscribe, ended)
    },
    assertQuota() {
      if (streams < maxStreams) return
      const message = 'Too many clients wait for notifications; poll the list instead.'
      throw new AppError('UNAVAILABLE', message, { retryAfterMs: keepAliveMs })
    },
  }
}

function notification(method: string, params?: object): string {
  const message = { jsonrpc: '2.0', method, ...(params ? { params } : {}) }
  return `event: message\ndata: ${writeJson(message)}\n\n`
}

/** A response that streams what `subscribe` sends, until the signal aborts or the client stops reading. */
function eventStream(subscribe: (send: (text: string) => void) => () => void, ended: AbortSignal): Response {
  let end = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      let closed = false
      const send = (text: string) => {
        if (closed) return
        // Disconnect a client that does not read, before its buffer grows.
        if (controller.desiredSize! < -maxUnread) end()
        else controller.enqueue(Buffer.from(text))
      }
      const unsubscribe = subscribe(send)
      const timer = setInterval(() => send(': keep-alive\n\n'), keepAliveMs)
      end = () => {
        if (closed) return
        closed = true
        unsubscribe()
        clearInterval(timer)
        controller.close()
      }
      send(': listening\n\n')
    },
    cancel: () => end(),
  })
  onAbort(ended, () => end())
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
  return new Response(body, { headers })
}
