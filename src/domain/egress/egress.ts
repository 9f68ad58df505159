/** The guarded fetch for every outgoing request: checked and pinned addresses, limits for redirects, bytes and time. */
import { onAbort } from '../../core/time.ts'
import { EgressError, toEgressError } from './egress-error.ts'
import { Agent } from 'undici'
import { readUpTo } from './body.ts'
import { createConnector, lookupBySystem, type Lookup } from './connector.ts'
import { createConnections, type ConnectionCounts, type Connections, keptSend } from './connections.ts'
import { exchange, type Send, type SendGuard, type Trace } from './exchange.ts'
import { createFetch, type GuardedFetch, createFollow, type Follow } from './fetch.ts'
import { ownHeaders, webHeaders, isSafe } from './request-rules.ts'
import { createGuard, type EgressPolicy } from './policy.ts'

/** Combines a time limit and the signal of the caller into one signal. */
export interface Deadline {
  /** Aborts with an EgressError: TIMEOUT after the time limit, ABORTED when the caller aborted. */
  signal: AbortSignal
  /** Releases timer and listener; call it in a `finally`. */
  clear(): void
}

/**
 * Used instead of `AbortSignal.any`, which in Node 20 keeps every derived signal alive as long as the caller's signal.
 */
function startDeadline(timeoutMs: number, caller: AbortSignal | null): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(
    () => controller.abort(new EgressError('TIMEOUT', `No complete response within ${timeoutMs} ms.`, false)),
    timeoutMs,
  )
  const removeListener = onAbort(caller, () =>
    controller.abort(new EgressError('ABORTED', 'The caller aborted the request.', false)),
  )
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      removeListener()
    },
  }
}

interface EgressRequest extends SendGuard {
  method: string
  url: string | URL
  headers?: Record<string, string>
  body?: string | Uint8Array | null
  /** Time for resolving, connecting, every redirect and the whole body together. Milliseconds. */
  timeoutMs: number
  /** Bytes of the (decoded) body to keep; reading stops there. */
  maxBytes: number
  /** Zero returns a redirect as the response. @default 5 */
  maxRedirects?: number
  signal?: AbortSignal | null
  /** Whose request it is: a kept connection serves nobody else. Null: the connection is not kept. @default null */
  keptFor?: string | null
  /** Whether sending the request twice has the effect of sending it once. @default true for GET and HEAD */
  isRepeatable?: boolean
  /** Headers, beside authorization, cookie and x-api-key, that are not sent when a redirect leads to another origin. */
  sensitiveHeaders?: readonly string[]
}

/**
 * The outcome of a request. A failure is a value: `error.sent` says whether the server may have acted on the request.
 */
type EgressOutcome =
  | {
      ok: true
      status: number
      headers: Headers
      bytes: Buffer
      truncated: boolean
      /** Whether the body is not in the encoding that it names; `bytes` is what could be decoded. */
      garbled: boolean
      /** Another one than was sent when a redirect led to what the service shows instead of an answer. */
      method: string
    }
  | { ok: false; error: EgressError }

export interface Egress {
  /**
   * The guarded variant of the global `fetch`: returns a global `Response` whose body streams. Rejects with an
   * EgressError, or with the signal's reason when the caller aborted. Request bodies are buffered, so that a redirect
   * can repeat them. The only time limit is five minutes without data: pass a signal.
   */
  fetch: GuardedFetch
  /**
   * Why this URL is refused by its text alone (no URL, wrong scheme, private IP address), or null. For checks at save.
   */
  checkUrl(url: string | URL): string | null
  /**
   * Sends one request within its limits; never throws. Connections are kept between requests. One that may be repeated
   * reuses any of them, and is sent once more over a new one when a kept connection is lost before a byte of the
   * response. Any other reuses only a connection that was unused for less than a second, and is never sent twice: when
   * that connection is lost the error has `sent`, because nobody can know whether the request arrived.
   */
  request(input: EgressRequest): Promise<EgressOutcome>
  /** Counts of the connections that `request` keeps, since the start. */
  kept: Readonly<ConnectionCounts>
  /** Closes every connection, also of requests in flight. */
  close(): Promise<void>
}

export interface EgressOptions {
  /** The resolver of host names. @default the system's */
  lookup?: Lookup
  /** Bytes after which a body read through `fetch` fails with TOO_LARGE. @default 268435456 (256 MiB) */
  maxFetchBytes?: number
  /** Called when a server sent bytes over a kept connection that nobody had asked for, which ends it. */
  onUnasked?: (origin: string) => void
}

/** Throws when an entry of the allow-list is not `host:port`. */
export function createEgress(policy: EgressPolicy, options: EgressOptions = {}): Egress {
  const guard = createGuard(policy)
  const connect = createConnector(guard, options.lookup ?? lookupBySystem)
  const shared = new Agent({ connect })
  const kept = createConnections(connect, options.onUnasked ?? (() => {}))
  const send: Send = (hop, how) => exchange(shared, hop, how)
  const follow = createFollow(guard)
  return {
    fetch: createFetch(guard, follow, send, options.maxFetchBytes ?? 256 * 1024 * 1024),
    checkUrl: (url) => refusalOf(() => guard.accept(url)),
    request: (input) => boundedRequest(follow, kept, input),
    kept: kept.counts,
    close: async () => void (await Promise.all([shared.destroy(), kept.close()])),
  }
}

async function boundedRequest(
  follow: Follow,
  kept: Connections,
  input: EgressRequest,
): Promise<EgressOutcome> {
  const { method, url, timeoutMs, maxBytes, maxRedirects = 5, sensitiveHeaders = [] } = input
  const trace: Trace = { sent: false, mayStart: input.mayStart }
  const deadline = startDeadline(timeoutMs, input.signal ?? null)
  try {
    const first = { url, method, headers: ownHeaders(input.headers ?? {}), body: bytesOf(input.body) }
    const isRepeatable = input.isRepeatable ?? isSafe(method)
    const { reply, method: answered } = await follow(first, {
      maxRedirects,
      sensitiveHeaders,
      signal: deadline.signal,
      trace,
      send: keptSend(kept, input.keptFor ?? null, isRepeatable),
    })
    const body = await readUpTo(reply.body, maxBytes)
    return {
      ok: true,
      status: reply.status,
      headers: webHeaders(reply.headers),
      ...body,
      method: answered,
    }
  } catch (error) {
    return { ok: false, error: toEgressError(error, trace.sent) }
  } finally {
    deadline.clear()
  }
}

function bytesOf(body: string | Uint8Array | null | undefined): Uint8Array | null {
  return typeof body === 'string' ? Buffer.from(body) : (body ?? null)
}

function refusalOf(accept: () => URL): string | null {
  try {
    accept()
    return null
  } catch (error) {
    if (error instanceof EgressError) return error.message
    throw error
  }
}
