/** The WebSocket of the page, and whether it is connected. */
import { createClient, type Client } from 'graphql-ws'
import { exactSocket } from '../../../src/core/exact-json.ts'
import { currentPrincipal, endSession } from './session.ts'
import { createStore } from './store.ts'
import { t } from '../texts/texts.tsx'

/** The state of the socket, `none` while nothing is followed; `since` is when it last changed, by this machine's clock. */
export interface Connection {
  state: 'none' | 'connected' | 'connecting'
  since: number
}

export const connection = createStore<Connection>({ state: 'none', since: Date.now() })
const to = (state: Connection['state']) => {
  if (connection.get().state !== state) connection.set({ state, since: Date.now() })
}

/** Close codes after which the server would refuse again: the session has ended or may not subscribe. */
const refused = new Set([4401, 4403])
/** The close code after the last subscription. */
const done = 1000

/** How often the server is asked for a sign of life, and how long it is waited for, in milliseconds. */
const pingMs = 10_000
const pongMs = 10_000

/** How many sockets fail, before the first one opens, until a proxy is taken to let none through. */
const mostFailures = 2
let failures = 0
let hasOpened = false

/** Whether subscriptions go over server-sent events, because no WebSocket of this page could be opened. */
export const isBlocked = (): boolean => !hasOpened && failures >= mostFailures

/** Takes the state of a stream for that of the socket. After its loss a socket is tried again: the server may have been away. */
export function noteStream(state: 'connected' | 'connecting'): void {
  if (state === 'connecting') failures = 0
  to(state)
}

let client: Client | null = null

/** The socket, opened at its first subscription. */
export function socket(): Client {
  client ??= newClient()
  return client
}

function newClient(): Client {
  to('connecting')
  let silent: ReturnType<typeof setTimeout> | undefined
  const opened = createClient({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/graphql`,
    webSocketImpl: exactSocket(WebSocket),
    lazy: true,
    connectionParams: () => ({ principal: currentPrincipal() }),
    keepAlive: pingMs,
    retryAttempts: Infinity,
    retryWait: async (retries) => {
      const ms = Math.min(250 * 2 ** retries, 5_000)
      await new Promise((resolve) => setTimeout(resolve, ms * (0.75 + Math.random() / 2)))
    },
    shouldRetry: (event) => !isBlocked() && !(event instanceof CloseEvent && refused.has(event.code)),
    on: {
      connecting: () => to('connecting'),
      connected: () => {
        hasOpened = true
        to('connected')
      },
      // A network that went away while the machine slept closes nothing: the socket would stay open and silent.
      ping: (isReceived) => {
        if (!isReceived) silent = setTimeout(() => opened.terminate(), pongMs)
      },
      message: () => clearTimeout(silent),
      closed: (event) => {
        clearTimeout(silent)
        if (client !== opened) return
        failures++
        // Nothing is followed any more.
        const isDone = event instanceof CloseEvent && event.code === done
        to(isDone ? 'none' : 'connecting')
        if (event instanceof CloseEvent && refused.has(event.code)) endSession(t('Your session has ended.'))
      },
    },
  })
  return opened
}

/** Closes the socket and everything that it carries. */
export function closeSocket(): void {
  const open = client
  client = null
  void open?.dispose()
  to('none')
}
