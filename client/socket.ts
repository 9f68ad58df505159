/** Subscriptions over WebSockets (graphql-ws): each is opened with its first subscription and closed after its last. */
import { createClient } from 'graphql-ws/client'
import { exactSocket, packValue, unpackValue } from '../src/core/exact-json.ts'
import type { ServerError } from './errors.ts'
import type { Server } from './server.ts'
import { keyRefused, type Listener, type Transport } from './transport.ts'

/** `pongMs`: how long a ping may stay without an answer. A machine that slept finds its dead connection so. */
const defaultTimes = { pingMs: 10_000, pongMs: 10_000 }
const ackMs = 15_000
const forbidden = 4403
/** Close codes that say that the client speaks wrongly: another try ends the same. */
const faults = [4400, 4406, 4409]

/** A server refuses more than 100 on one socket. */
const mostOnOne = 90

/** Opens another socket when all that are open have as many subscriptions as a server takes. */
export function socketTransport(server: Server, times = defaultTimes): Transport {
  const sockets: { transport: Transport; open: number }[] = []
  return {
    open(operation, listener) {
      let socket = sockets.find(({ open }) => open < mostOnOne)
      if (!socket) sockets.push((socket = { transport: oneSocket(server, times), open: 0 }))
      const own = socket
      own.open++
      let isOver = false
      const leave = () => {
        if (!isOver) own.open--
        isOver = true
      }
      const stop = own.transport.open(operation, {
        next: (result) => listener.next(result),
        lost: (reason) => (leave(), listener.lost(reason)),
        refused: (errors) => (leave(), listener.refused(errors)),
        completed: () => (leave(), listener.completed()),
      })
      return () => {
        leave()
        stop()
      }
    },
    close: () => sockets.forEach(({ transport }) => transport.close()),
  }
}

function oneSocket(server: Server, { pingMs, pongMs }: typeof defaultTimes): Transport {
  let silence: ReturnType<typeof setTimeout> | undefined
  const client = createClient({
    url: server.url.replace(/^http/, 'ws'),
    webSocketImpl: server.webSocket && exactSocket(server.webSocket),
    lazy: true,
    // Whoever follows a stream opens it again, from its cursor.
    retryAttempts: 0,
    keepAlive: pingMs,
    connectionAckWaitTimeout: ackMs,
    connectionParams: async () => {
      const authorization = await server.authorization()
      const { actsFor } = server
      return { ...(authorization && { authorization }), ...(actsFor !== undefined && { actsFor }) }
    },
    on: {
      ping: (isReceived) => {
        if (isReceived) return
        clearTimeout(silence)
        silence = setTimeout(() => client.terminate(), pongMs)
      },
      pong: (isReceived) => {
        if (isReceived) clearTimeout(silence)
      },
      closed: () => clearTimeout(silence),
    },
  })
  return {
    open({ query, variables }, listener) {
      let isOver = false
      const end = (tell: () => void) => {
        if (isOver) return
        isOver = true
        tell()
      }
      const stop = client.subscribe<Record<string, unknown>>(
        { query, variables: packValue(variables) },
        {
          next: (result) => {
            if (!isOver) listener.next(unpackValue(result) as never)
          },
          error: (error) => end(() => tellEnd(error, listener)),
          complete: () => end(() => listener.completed()),
        },
      )
      return () => {
        isOver = true
        stop()
      }
    },
    close: () => void Promise.resolve(client.dispose()).catch(() => {}),
  }
}

function tellEnd(error: unknown, listener: Listener): void {
  if (Array.isArray(error)) return listener.refused(error as ServerError[])
  const { code, reason } = error as { code?: unknown; reason?: unknown }
  if (code === forbidden) return listener.refused(keyRefused)
  if (faults.includes(code as number))
    return listener.refused([{ message: `The server closed the socket: ${String(code)} ${String(reason)}` }])
  listener.lost(error)
}
