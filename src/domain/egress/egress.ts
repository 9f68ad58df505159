/** The one guarded fetch for everything that leaves the house: checked, pinned, bounded in hops, bytes and time. */
import { Agent } from 'undici'
import { readUpTo } from './body.ts'
import { createConnector, lookupBySystem, type Lookup } from './connector.ts'
import { startDeadline } from './deadline.ts'
import { EgressError, toEgressError } from './egress-error.ts'
import type { SendGuard, Trace } from './exchange.ts'
import { createFetch, type GuardedFetch } from './fetch.ts'
import { createFollow, type Follow } from './follow.ts'
import { ownHeaders, webHeaders } from './headers.ts'
import { createGuard, type EgressPolicy } from './policy.ts'

interface EgressRequest extends SendGuard {
  method: string
  url: string | URL
  headers?: Record<string, string>
  body?: string | Uint8Array | null
  /** Time for everything: resolving, connecting, every redirect and the whole body. Milliseconds. */
  timeoutMs: number
  /** Bytes of the (decoded) body to keep; reading stops there. */
  maxBytes: number
  /** Zero hands a redirect back as the answer it is. @default 5 */
  maxRedirects?: number
  signal?: AbortSignal | null
  /** More headers that stay behind when a redirect leaves the origin, beside authorization, cookie and x-api-key. */
  sensitiveHeaders?: readonly string[]
}

/** What came back. A failure is a value: `error.sent` tells whether the other side may have acted on the request. */
type EgressOutcome =
  | { ok: true; status: number; headers: Headers; bytes: Buffer; truncated: boolean }
  | { ok: false; error: EgressError }

export interface Egress {
  /**
   * `fetch` as the platform has it, guarded: answers are global `Response`s, bodies stream. Rejects with an EgressError,
   * or with the signal's reason when the caller aborted. Request bodies are buffered, so that a redirect can repeat them.
   * There is no time limit of its own beyond silence of 5 minutes: give a signal.
   */
  fetch: GuardedFetch
  /** Why this URL can be refused without asking anybody (no URL, wrong scheme, private literal), or null. For saving. */
  checkUrl(url: string | URL): string | null
  /**
   * One bounded request, never a throw. A request that is not GET or HEAD has a connection of its own: on a reused one
   * that dies in the same instant nobody could tell whether it was seen.
   */
  request(input: EgressRequest): Promise<EgressOutcome>
  /** Cuts every connection, open exchanges included. */
  close(): Promise<void>
}

export interface EgressOptions {
  /** The resolver of host names; the system's when left out. Its answers are checked and then connected to as they are. */
  lookup?: Lookup
  /** Bytes after which a body read through `fetch` fails with TOO_LARGE. @default 268435456 (256 MiB) */
  maxFetchBytes?: number
}

/** Throws when the allow-list holds an entry that is not `host:port`. */
export function createEgress(policy: EgressPolicy, options: EgressOptions = {}): Egress {
  const guard = createGuard(policy)
  const connect = createConnector(guard, options.lookup ?? lookupBySystem)
  const shared = new Agent({ connect })
  const single = new Agent({ connect })
  const follow = createFollow(guard, { shared, single })
  return {
    fetch: createFetch(guard, follow, options.maxFetchBytes ?? 256 * 1024 * 1024),
    checkUrl: (url) => refusalOf(() => guard.accept(url)),
    request: (input) => boundedRequest(follow, input),
    close: async () => void (await Promise.all([shared.destroy(), single.destroy()])),
  }
}

async function boundedRequest(follow: Follow, input: EgressRequest): Promise<EgressOutcome> {
  const { method, url, timeoutMs, maxBytes, maxRedirects = 5, sensitiveHeaders = [] } = input
  const trace: Trace = { sent: false, mayStart: input.mayStart }
  const deadline = startDeadline(timeoutMs, input.signal ?? null)
  try {
    const first = { url, method, headers: ownHeaders(input.headers ?? {}), body: bytesOf(input.body) }
    const single = method !== 'GET' && method !== 'HEAD'
    const { reply } = await follow(first, {
      maxRedirects,
      sensitiveHeaders,
      signal: deadline.signal,
      trace,
      single,
    })
    const { bytes, truncated } = await readUpTo(reply.body, maxBytes)
    return { ok: true, status: reply.status, headers: webHeaders(reply.headers), bytes, truncated }
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
