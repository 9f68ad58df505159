/** Telling clients that tools, prompts or resources of an agent have changed: the new era by subscription, the old one by a stream. */
import type { ServerEventBus } from '@modelcontextprotocol/server'
import { AppError } from '../../core/errors.ts'
import type { SurfacePart, Surfaces } from '../../domain/bridge/index.ts'

/** Streams that wait for news, over all clients of this process. */
const maxListeners = 5000
const keepAliveMs = 10_000
const notificationOf = (part: SurfacePart) =>
  JSON.stringify({ jsonrpc: '2.0', method: `notifications/${part}/list_changed` })

export interface Changes {
  /** The news of an agent for subscriptions of the new era. */
  busOf(agentId: string): ServerEventBus
  /** A stream of server-sent events for a client of the old era, until it goes. */
  stream(agentId: string, gone: AbortSignal): Response
  /** Throws UNAVAILABLE when too many listen. */
  assertRoom(): void
  /** Ends all streams; clients come back. */
  close(): void
}

export function createChanges(surfaces: Surfaces): Changes {
  let listeners = 0
  const open = new Set<() => void>()
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
    busOf: (agentId) => ({
      publish: () => {},
      subscribe: (listener) =>
        watch(agentId, (parts) => parts.forEach((part) => listener({ kind: `${part}_list_changed` }))),
    }),
    stream(agentId, gone) {
      const end = { now: () => {} }
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          const send = (text: string) => controller.enqueue(Buffer.from(text))
          const stop = watch(agentId, (parts) =>
            parts.forEach((part) => send(`event: message\ndata: ${notificationOf(part)}\n\n`)),
          )
          const timer = setInterval(() => send(': keep-alive\n\n'), keepAliveMs)
          end.now = () => {
            if (!open.delete(end.now)) return
            stop()
            clearInterval(timer)
            controller.close()
          }
          open.add(end.now)
          send(': listening\n\n')
        },
        cancel: () => end.now(),
      })
      gone.addEventListener('abort', () => end.now(), { once: true })
      const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
      return new Response(body, { headers })
    },
    assertRoom() {
      if (listeners < maxListeners) return
      const details = { retryAfterMs: keepAliveMs }
      throw new AppError(
        'UNAVAILABLE',
        'Too many clients listen for changes; ask for the list instead.',
        details,
      )
    },
    close() {
      open.forEach((end) => end())
    },
  }
}
