/** The WebSocket of the page, and whether it is connected. */
import { createClient, type Client } from 'graphql-ws'
import { endSession } from './session.ts'
import { createStore } from './store.ts'
import { t } from '../texts/texts.tsx'

/** The state of the socket; `since` is when it last changed, by this machine's clock. */
export interface Connection {
  state: 'connected' | 'connecting'
  since: number
}

export const connection = createStore<Connection>({ state: 'connecting', since: Date.now() })
const to = (state: Connection['state']) => {
  if (connection.get().state !== state) connection.set({ state, since: Date.now() })
}

/** Close codes after which the server would refuse again: the session has ended or may not subscribe. */
const refused = new Set([4401, 4403])

/** How often the server is asked for a sign of life, and how long it is waited for, in milliseconds. */
const pingMs = 10_000
const pongMs = 10_000

let client: Client | null = null

/** The socket, opened at its first subscription. */
export function socket(): Client {
  client ??= newClient()
  return client
}

function newClient(): Client {
  let silent: ReturnType<typeof setTimeout> | undefined
  const opened = createClient({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/graphql`,
    lazy: true,
    keepAlive: pingMs,
    retryAttempts: Infinity,
    retryWait: async (retries) => {
      const ms = Math.min(250 * 2 ** retries, 5_000)
      await new Promise((resolve) => setTimeout(resolve, ms * (0.75 + Math.random() / 2)))
    },
    shouldRetry: (event) => !(event instanceof CloseEvent && refused.has(event.code)),
    on: {
      connected: () => to('connected'),
      // A network that went away while the machine slept closes nothing: the socket would stay open and silent.
      ping: (isReceived) => {
        if (!isReceived) silent = setTimeout(() => opened.terminate(), pongMs)
      },
      message: () => clearTimeout(silent),
      closed: (event) => {
        clearTimeout(silent)
        to('connecting')
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
  to('connecting')
  void open?.dispose()
}
