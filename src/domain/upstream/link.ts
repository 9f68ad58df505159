/** One connection to an upstream: which protocol and transport it takes is found out here. */
import { setTimeout as pause } from 'node:timers/promises'
import {
  Client,
  SSEClientTransport,
  SdkHttpError,
  SseError,
  StreamableHTTPClientTransport,
  type AuthProvider,
  type ClientCapabilities,
  type DiscoverResult,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
} from '@modelcontextprotocol/client'
import { onAbort } from '../../core/abort.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Pooled } from '../../core/pool.ts'
import type { Services } from '../access/index.ts'
import { cleanMessages, hiddenValues, hidingCredentials, type Hidden } from './hidden.ts'
import { maxCatalogBytes, type ServerFacts } from './collect.ts'
import type { Era, UpstreamTransport, Verdict } from './state.ts'
import type { Target } from './target.ts'
import { watchStream } from './stream.ts'
import { unwatched, wireFetch } from './wire.ts'

export interface Link extends Pooled {
  client: Client
  era: Era
  transport: UpstreamTransport
  verdict: Verdict
  /** Whether the verdict was found out now, and not handed in. */
  probed: boolean
  facts: ServerFacts
  /** What it was told in confidence. */
  hidden: Hidden
  /** Calls back once when the connection is gone; at once when it is already. */
  onDown(listener: () => void): void
  /** Calls back with each resource that the server says has changed. The answer ends it. */
  onUpdated(listener: (uri: string) => void): () => void
}

export interface LinkOptions {
  /** What was found out before; null to find it out. */
  verdict: Verdict | null
  auth: AuthProvider
  /** Told to the server at the start of an older session, or with every request of the newer protocol. */
  capabilities?: ClientCapabilities
  /** The server says that one of its lists has changed. */
  onChanged?: () => void
  /** Time for the whole opening, in milliseconds. */
  timeoutMs: number
  signal?: AbortSignal | null
}

const clientInfo = { name: 'gatehouse', version: '0.1.0' }

/** Results are checked by us, with our limits: the SDK would compile any schema that a stranger sends. */
const unchecking: jsonSchemaValidator = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (input) => ({ valid: true, data: input as T, errorMessage: undefined }),
}

/** Streams are fetched again by the transport itself, this often and at these intervals. */
const reconnectionOptions = {
  initialReconnectionDelay: 200,
  maxReconnectionDelay: 1500,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 3,
}

/** After its session is lost, what was sent may hear of it for so long, in milliseconds. */
const lostMs = 500

/** Time for a server to be told that its session is over, in milliseconds. */
const goodbyeMs = 1000

/** Opens a connection. Throws what the SDK or the guarded fetch throws; `faultOf` gives it words. */
export function openLink(services: Services, target: Target, options: LinkOptions): Promise<Link> {
  // It lives longer than the call that needs it first, and must not die or be counted with it.
  return unwatched(async () => {
    const limit = AbortSignal.timeout(options.timeoutMs)
    const signal = options.signal ? AbortSignal.any([limit, options.signal]) : limit
    const known = options.verdict
    if (known?.transport === 'sse') return openSse(services, target, options, signal)
    try {
      return await openHttp(services, target, options, signal)
    } catch (error) {
      if (known || !mayBeSse(error)) throw error
      return await openSse(services, target, options, signal).catch(() => {
        throw error
      })
    }
  })
}

/** What a server of the oldest transport answers to a POST at the address of its stream. */
function mayBeSse(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 405].includes(error.status ?? 0)
}

async function openHttp(
  services: Services,
  target: Target,
  options: LinkOptions,
  signal: AbortSignal,
): Promise<Link> {
  const hidden = hiddenValues(target.secrets)
  const stream = watchStream(fetchFor(services, hidden))
  const transport = new StreamableHTTPClientTransport(target.url, {
    authProvider: options.auth,
    requestInit: { headers: target.headers },
    fetch: stream.fetch,
    reconnectionOptions,
    onInsufficientScope: 'throw',
  })
  cleanMessages(transport, hidden)
  const client = clientFor(options)
  const prior = priorOf(options.verdict)
  const timeout = options.timeoutMs
  await orAbort(
    client.connect(transport, { timeout, signal, ...(prior ? { prior } : {}) }),
    signal,
    transport,
  )
  const era = client.getProtocolEra() ?? 'legacy'
  const goodbye = era === 'legacy' ? () => transport.terminateSession() : async () => {}
  const { link, fall } = linkOf(client, { era, transport: 'streamable-http', hidden }, options, goodbye)
  client.onerror = (error) => {
    if (!stream.isLost(error)) return
    fall()
    // A request on its way to a server that is back hears first that its session is no more, and is sent again.
    setTimeout(() => void client.close().catch(() => {}), lostMs).unref()
  }
  return link
}

async function openSse(
  services: Services,
  target: Target,
  options: LinkOptions,
  signal: AbortSignal,
): Promise<Link> {
  const hidden = hiddenValues(target.secrets)
  const transport = new SSEClientTransport(target.url, {
    authProvider: options.auth,
    requestInit: { headers: target.headers },
    fetch: fetchFor(services, hidden),
  })
  cleanMessages(transport, hidden)
  const client = clientFor(options)
  const opening = client.connect(transport, {
    timeout: options.timeoutMs,
    signal,
    prior: { kind: 'legacy' },
  })
  await orAbort(opening, signal, transport)
  // A second stream would be another session: what waits for an answer in this one waits in vain.
  client.onerror = (error) => {
    if (error instanceof SseError) void client.close().catch(() => {})
  }
  return linkOf(client, { era: 'legacy', transport: 'sse', hidden }, options, async () => {}).link
}

function fetchFor(services: Services, hidden: Hidden): typeof globalThis.fetch {
  const fetch = wireFetch(services.egress, Math.max(services.limits.maxResponseBytes, maxCatalogBytes))
  return hidingCredentials(fetch, hidden)
}

function clientFor({ capabilities = {}, timeoutMs, onChanged }: LinkOptions): Client {
  const client = new Client(clientInfo, {
    capabilities,
    versionNegotiation: { mode: 'auto', probe: { timeoutMs } },
    inputRequired: { autoFulfill: false },
    jsonSchemaValidator: unchecking,
  })
  const changed = () => onChanged?.()
  client.setNotificationHandler('notifications/tools/list_changed', changed)
  client.setNotificationHandler('notifications/prompts/list_changed', changed)
  client.setNotificationHandler('notifications/resources/list_changed', changed)
  return client
}

function priorOf(verdict: Verdict | null) {
  if (!verdict) return null
  if (verdict.era === 'legacy') return { kind: 'legacy' } as const
  return { kind: 'modern', discover: verdict.discover as DiscoverResult } as const
}

/** Some openings wait for a server's first word without a limit of their own. */
async function orAbort(
  opening: Promise<void>,
  signal: AbortSignal,
  transport: { close(): Promise<void> },
): Promise<void> {
  let forget = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    const stop = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    forget = onAbort(signal, stop)
  })
  try {
    await Promise.race([opening, aborted])
  } catch (error) {
    opening.catch(() => {})
    await transport.close().catch(() => {})
    throw error
  } finally {
    aborted.catch(() => {})
    forget()
  }
}

/** `fall` makes it one that is gone for whoever wants a new request answered. */
function linkOf(
  client: Client,
  { hidden, ...kind }: { era: Era; transport: UpstreamTransport; hidden: Hidden },
  options: LinkOptions,
  goodbye: () => Promise<void>,
): { link: Link; fall(): void } {
  let down = false
  const listeners = new Set<() => void>()
  const fall = () => {
    down = true
    for (const listener of listeners) listener()
    listeners.clear()
  }
  client.onclose = fall
  const hearers = new Set<(uri: string) => void>()
  client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
    for (const hear of hearers) hear(uri)
  })
  const discover = client.getDiscoverResult()
  const server = client.getServerVersion()
  const link: Link = {
    client,
    ...kind,
    verdict: { ...kind, ...(discover ? { discover } : {}) },
    probed: options.verdict === null,
    hidden,
    facts: {
      server: server ? { name: server.name, version: server.version } : null,
      instructions: client.getInstructions() ?? null,
      capabilities: (client.getServerCapabilities() ?? {}) as JsonObject,
    },
    onDown(listener) {
      if (down) listener()
      else listeners.add(listener)
    },
    onUpdated(listener) {
      hearers.add(listener)
      return () => void hearers.delete(listener)
    },
    async close() {
      if (!down) await Promise.race([goodbye().catch(() => {}), pause(goodbyeMs, undefined, { ref: false })])
      await client.close().catch(() => {})
    },
  }
  return { link, fall }
}
