/** Which server, and as whom. */
import { errorOf } from './errors.ts'

/** A WebSocket class: that of browsers and Node 22, or of the package ws. */
export type WebSocketClass = new (url: string, protocols?: string | string[]) => object

export interface ClientOptions {
  /** The address of the server, such as `http://127.0.0.1:4000`, with or without `/graphql`. */
  url: string
  /** An API key or token; a function is asked for each request and connection, so that a token can be renewed. */
  key?: string | (() => string | Promise<string>)
  /** Whether the session cookie of this page counts in place of a key: for pages of the server itself. */
  session?: boolean
  /** The project, for keys that may use several. Default: that of the key. */
  projectId?: string
  /** For the key of a program: the id of the person, or of the key of the person, for whom it acts. Default: for nobody. */
  actsFor?: string
  /** Default: the global one. */
  fetch?: typeof fetch
  /** Default: the global one. null: events come as server-sent events over fetch, as they do where there is none. */
  webSocket?: WebSocketClass | null
  /** How long a request that is safe to repeat is repeated, in milliseconds. Default: 60000. */
  retryForMs?: number
  /** How long one try of a request may take, in milliseconds. Default: 60000. */
  timeoutMs?: number
  /** Called before each wait for another try of a request or stream. */
  onRetry?: (error: unknown, waitMs: number) => void
}

export interface Server {
  readonly url: string
  readonly projectId: string | null
  readonly actsFor: string | undefined
  readonly fetch: typeof fetch
  readonly webSocket: WebSocketClass | null
  readonly retryForMs: number
  readonly timeoutMs: number
  readonly credentials: 'same-origin' | 'omit'
  onRetry(error: unknown, waitMs: number): void
  /** The value of the header `authorization`; null for a session. */
  authorization(): Promise<string | null>
  /** Whether another try may have another key than the refused one. */
  readonly renewsKey: boolean
  /** The server's time in milliseconds; null while no response has told it, as to a page of another origin. */
  now(): number | null
  learnTime(date: string | null): void
}

/** Checks the options. Throws TypeError for an address that is none, and without a key or session. */
export function serverOf(options: ClientOptions): Server {
  const { key, session = false, actsFor, onRetry = () => {} } = options
  if (key === undefined && !session)
    throw new TypeError('createClient needs a key, or session: true in a page.')
  if (typeof key === 'string' && key.trim() === '') throw new TypeError('The key is empty.')
  const own = (globalThis as { WebSocket?: WebSocketClass }).WebSocket
  const found = options.webSocket === undefined ? (own ?? null) : options.webSocket
  const send = options.fetch ?? globalThis.fetch
  let skewMs: number | null = null
  return {
    url: endpointOf(options.url),
    projectId: options.projectId ?? null,
    actsFor,
    // fetch of a browser must be called as a function of the window.
    fetch: (input, init) =>
      send(
        input,
        actsFor === undefined
          ? init
          : { ...init, headers: { ...(init?.headers as object), 'gatehouse-acts-for': actsFor } },
      ),
    webSocket: found,
    retryForMs: options.retryForMs ?? 60_000,
    timeoutMs: options.timeoutMs ?? 60_000,
    credentials: session ? 'same-origin' : 'omit',
    onRetry,
    async authorization() {
      if (key === undefined) return null
      const value = typeof key === 'string' ? key : await key()
      // A line break would be a fault of fetch that quotes the key.
      if (!/^[\x21-\x7e]+$/.test(value.trim()))
        throw errorOf('UNAUTHENTICATED', 'The key has characters that no key has.')
      return `Bearer ${value.trim()}`
    },
    renewsKey: typeof key === 'function',
    now: () => (skewMs === null ? null : Date.now() + skewMs),
    learnTime(date) {
      const at = date === null ? Number.NaN : Date.parse(date)
      if (Number.isNaN(at)) return
      // A header has whole seconds: only a difference that these cannot explain counts.
      const next = at + 500 - Date.now()
      if (skewMs === null || Math.abs(next - skewMs) > 1000) skewMs = next
    },
  }
}

function endpointOf(given: string): string {
  const url = new URL(given)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError('The url must begin with http:// or https://')
  if (!url.pathname.endsWith('/graphql')) url.pathname = `${url.pathname.replace(/\/+$/, '')}/graphql`
  url.search = ''
  url.hash = ''
  return url.href
}
