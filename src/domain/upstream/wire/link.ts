/** One connection to an upstream. Opening it negotiates the protocol version and the transport. */
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
import { onAbort, withinTime } from '../../../core/time.ts'
import type { Json, JsonObject } from '../../../core/json.ts'
import type { PoolResource } from '../../../core/pool.ts'
import type { Services } from '../../access/index.ts'
import { connectorIn } from '../config.ts'
import { connectorFetch } from '../connector/fetch.ts'
import { readAnswers, type Answer, type Answers } from './answers.ts'
import { cleanMessages, hiddenValues, hidingCredentials, type HiddenValues } from './hidden.ts'
import { maxCatalogBytes, type ServerFacts } from '../catalog/collect.ts'
import type { Era, UpstreamTransport, NegotiatedProtocol } from '../state.ts'
import type { UpstreamTarget } from '../target.ts'
import { watchStream } from './stream.ts'
import { runUntracked, wireFetch } from './wire.ts'

export interface Link extends PoolResource {
  client: Client
  era: Era
  transport: UpstreamTransport
  protocol: NegotiatedProtocol
  /** Whether the protocol was negotiated now, and not passed in. */
  probed: boolean
  facts: ServerFacts
  /** The secrets and tokens that were sent over it. */
  hidden: HiddenValues
  /** What the server answered, for a result of the client. */
  answerFor(result: unknown): Answer
  /** Gives up the connection, whose session may be gone: it gets no new requests, and closes when the last one has ended. */
  giveUp(): void
  /** Calls back once when the connection closes or is given up; at once when that has happened. */
  onDown(listener: () => void): void
  /** Calls back with the URI of each resource that the server reports as updated. Returns a function that ends this. */
  onUpdated(listener: (uri: string) => void): () => void
}

export interface LinkOptions {
  /** The protocol as negotiated before; null to negotiate it. */
  protocol: NegotiatedProtocol | null
  auth: AuthProvider
  /** Declared once when a legacy session starts, or with every modern request. */
  capabilities?: ClientCapabilities
  /** Called when the server reports that one of its lists changed. */
  onChanged?: () => void
  /** Limit for opening the connection, in milliseconds. */
  timeoutMs: number
  signal?: AbortSignal | null
}

const clientInfo = { name: 'gatehouse', version: '0.1.0' }

/**
 * Accepts every result: Gatehouse checks them within its own limits, while the SDK would compile any untrusted schema.
 */
const acceptAll: jsonSchemaValidator = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (input) => ({ valid: true, data: input as T, errorMessage: undefined }),
}

/** The transport reopens its streams this often and at these intervals at least, in milliseconds. */
const reconnectionOptions = {
  initialReconnectionDelay: 200,
  maxReconnectionDelay: 1500,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 3,
}

/** After the session is lost, requests in flight get this long to receive their response, in milliseconds. */
const lostSessionMs = 500

/** Time limit for ending the session at the server, in milliseconds. */
const endSessionMs = 1000

/** Throws what the SDK or the guarded fetch throws; `faultOf` turns it into an UpstreamFault. */
export function openLink(services: Services, target: UpstreamTarget, options: LinkOptions): Promise<Link> {
  // The connection outlives the request that opens it: it must not be aborted or tracked with it.
  return runUntracked(async () => {
    const signal = withinTime(options.timeoutMs, options.signal)
    const known = options.protocol
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

/** True for the statuses with which an SSE-only server refuses a POST to the URL of its stream. */
function mayBeSse(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 405].includes(error.status ?? 0)
}

async function openHttp(
  services: Services,
  target: UpstreamTarget,
  options: LinkOptions,
  signal: AbortSignal,
): Promise<Link> {
  const hidden = hiddenValues(target.secrets)
  const answers = answersFrom(services, target, hidden)
  const stream = watchStream(answers)
  const transport = new StreamableHTTPClientTransport(target.url, {
    authProvider: options.auth,
    requestInit: { headers: target.headers },
    fetch: stream.fetch,
    reconnectionOptions,
    reconnectionScheduler: stream.schedule,
    onInsufficientScope: 'throw',
  })
  cleanMessages(transport, hidden)
  const client = clientFor(options)
  const prior = priorOf(options.protocol)
  const timeout = options.timeoutMs
  await orAbort(
    client.connect(transport, { timeout, signal, ...(prior ? { prior } : {}) }),
    signal,
    transport,
  )
  const era = client.getProtocolEra() ?? 'legacy'
  const endSession = era === 'legacy' ? () => transport.terminateSession() : async () => {}
  const { link, markClosed } = linkOf(
    client,
    { era, transport: 'streamable-http', hidden, answers },
    options,
    endSession,
  )
  client.onerror = (error) => {
    if (!stream.isLost(error)) return
    markClosed()
    // A request in flight to a restarted server learns first that its session no longer exists, and is sent again.
    setTimeout(() => void client.close().catch(() => {}), lostSessionMs).unref()
  }
  return link
}

async function openSse(
  services: Services,
  target: UpstreamTarget,
  options: LinkOptions,
  signal: AbortSignal,
): Promise<Link> {
  const hidden = hiddenValues(target.secrets)
  const answers = answersFrom(services, target, hidden)
  const transport = new SSEClientTransport(target.url, {
    authProvider: options.auth,
    requestInit: { headers: target.headers },
    fetch: answers.fetch,
  })
  cleanMessages(transport, hidden)
  const client = clientFor(options)
  const opening = client.connect(transport, {
    timeout: options.timeoutMs,
    signal,
    prior: { kind: 'legacy' },
  })
  await orAbort(opening, signal, transport)
  // A new stream would be a new session: requests that wait for a response in this one would never get it.
  client.onerror = (error) => {
    if (error instanceof SseError) void client.close().catch(() => {})
  }
  return linkOf(client, { era: 'legacy', transport: 'sse', hidden, answers }, options, async () => {}).link
}

function answersFrom(services: Services, target: UpstreamTarget, hidden: HiddenValues): Answers {
  const { projectId } = target
  const name = connectorIn(target.url.href)
  const way = name === null ? services.egress : { fetch: connectorFetch(services, { projectId, name }) }
  const maxBytes = Math.max(services.limits.maxResponseBytes, maxCatalogBytes)
  return readAnswers(hidingCredentials(wireFetch(way, maxBytes), hidden), hidden, maxBytes)
}

function clientFor({ capabilities = {}, timeoutMs, onChanged }: LinkOptions): Client {
  const client = new Client(clientInfo, {
    capabilities,
    versionNegotiation: { mode: 'auto', probe: { timeoutMs } },
    inputRequired: { autoFulfill: false },
    jsonSchemaValidator: acceptAll,
  })
  const changed = () => onChanged?.()
  client.setNotificationHandler('notifications/tools/list_changed', changed)
  client.setNotificationHandler('notifications/prompts/list_changed', changed)
  client.setNotificationHandler('notifications/resources/list_changed', changed)
  return client
}

function priorOf(protocol: NegotiatedProtocol | null) {
  if (!protocol) return null
  if (protocol.era === 'legacy') return { kind: 'legacy' } as const
  return { kind: 'modern', discover: protocol.discover as DiscoverResult } as const
}

/** Some openings wait for the server's first message without a limit of their own. */
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

/** `markClosed` marks the connection as closed, so that it gets no new requests. */
function linkOf(
  client: Client,
  {
    hidden,
    answers,
    ...kind
  }: { era: Era; transport: UpstreamTransport; hidden: HiddenValues; answers: Answers },
  options: LinkOptions,
  endSession: () => Promise<void>,
): { link: Link; markClosed(): void } {
  let down = false
  let closed = false
  const listeners = new Set<() => void>()
  const markClosed = () => {
    down = true
    for (const listener of listeners) listener()
    listeners.clear()
  }
  client.onclose = () => {
    closed = true
    markClosed()
  }
  const updateListeners = new Set<(uri: string) => void>()
  client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
    for (const updated of updateListeners) updated(uri)
  })
  const discover = client.getDiscoverResult()
  const server = client.getServerVersion()
  const link: Link = {
    client,
    ...kind,
    protocol: { ...kind, ...(discover ? { discover } : {}) },
    probed: options.protocol === null,
    hidden,
    facts: {
      server: server?.name ? { name: server.name, version: server.version } : null,
      instructions: client.getInstructions() ?? null,
      capabilities: (client.getServerCapabilities() ?? {}) as JsonObject,
    },
    answerFor: (result) => answers.take(result) ?? { result: result as Json },
    giveUp: markClosed,
    onDown(listener) {
      if (down) listener()
      else listeners.add(listener)
    },
    onUpdated(listener) {
      updateListeners.add(listener)
      return () => void updateListeners.delete(listener)
    },
    async close() {
      if (!closed)
        await Promise.race([endSession().catch(() => {}), pause(endSessionMs, undefined, { ref: false })])
      await client.close().catch(() => {})
    },
  }
  return { link, markClosed }
}
