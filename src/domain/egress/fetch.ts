/** The guarded fetch with the signature of the global `fetch`, for libraries that accept one, and its redirects. */
import { decodeBody, capBody, hasNoBody } from './body.ts'
import { EgressError, toEgressError } from './egress-error.ts'
import type { Reply, Send, Trace, SendGuard } from './exchange.ts'
import type { Guard } from './policy.ts'
import { nextHop, targetOf, type Hop, ownHeaders, webHeaders } from './request-rules.ts'
import { Readable } from 'node:stream'

interface Following {
  /** Zero returns a redirect as the response. */
  maxRedirects: number
  /** Headers, beside the well-known ones, that are not sent when a redirect leads to another origin. */
  sensitiveHeaders: readonly string[]
  signal: AbortSignal | null
  trace: Trace
  /** Sends each of the requests. */
  send: Send
}

/** Rejects with an EgressError, the signal's reason or undici's error. The caller must read or destroy the body. */
export type Follow = (
  first: Omit<Hop, 'url'> & { url: string | URL },
  following: Following,
) => Promise<{ reply: Reply; url: URL; method: string; redirected: boolean }>

export function createFollow(guard: Guard): Follow {
  return async (first, { maxRedirects, sensitiveHeaders, signal, trace, send }) => {
    const sensitive = sensitiveHeaders.map((name) => name.toLowerCase())
    let hop: Hop = { ...first, url: guard.accept(first.url) }
    for (let followed = 0; ; followed++) {
      const reply = await send(hop, { signal, trace })
      const target = targetOf(hop.method, reply.status, [reply.headers['location']].flat()[0])
      if (target === null || maxRedirects === 0)
        return {
          reply: decodeBody(reply, hop.method),
          url: hop.url,
          method: hop.method,
          redirected: followed > 0,
        }
      reply.body.destroy()
      if (followed >= maxRedirects)
        throw new EgressError(
          'TOO_MANY_REDIRECTS',
          `The server redirected more than ${maxRedirects} times.`,
          true,
        )
      const next = nextHop(hop, reply.status, target, sensitive)
      hop = { ...next, url: guard.accept(next.url) }
    }
  }
}

/** The global `fetch` with an optional SendGuard. */
export type GuardedFetch = (
  input: string | URL | Request,
  init?: RequestInit & SendGuard,
) => Promise<Response>

const maxRedirects = 5

/** A body that grows beyond `maxBytes` fails with TOO_LARGE while it is read. */
export function createFetch(guard: Guard, follow: Follow, send: Send, maxBytes: number): GuardedFetch {
  return async (input, init) => {
    // The message of the global Request about an invalid URL would repeat the credentials in it.
    guard.accept(input instanceof Request ? input.url : String(input))
    const signal = init?.signal ?? (input instanceof Request ? input.signal : null)
    const request = new Request(input, { ...init, signal: null })
    const trace: Trace = { sent: false, mayStart: init?.mayStart }
    try {
      const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer())
      const headers = {
        accept: '*/*',
        'user-agent': 'gatehouse',
        ...ownHeaders(Object.fromEntries(request.headers)),
      }
      const first = { url: request.url, method: request.method, headers, body }
      const hops = request.redirect === 'follow' ? maxRedirects : 0
      const following = {
        maxRedirects: hops,
        sensitiveHeaders: sensitiveIn(headers),
        signal,
        trace,
        send,
      }
      const { reply, url, redirected } = await follow(first, following)
      return responseOf(reply, request, { url: url.href, redirected }, maxBytes)
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      throw toEgressError(error, trace.sent)
    }
  }
}

/** Headers that never carry credentials. Any other header may. */
const publicHeaders =
  /^(accept|accept-(encoding|language)|content-(encoding|language|type)|last-event-id|mcp-protocol-version|range|user-agent)$/

/** The headers that are not sent when a redirect leads to another origin. */
function sensitiveIn(headers: Record<string, string>): string[] {
  return Object.keys(headers).filter((name) => !publicHeaders.test(name))
}

function responseOf(
  reply: Reply,
  request: Request,
  facts: { url: string; redirected: boolean },
  maxBytes: number,
): Response {
  const isRedirect = reply.status >= 300 && reply.status < 400 && reply.headers['location'] !== undefined
  if (reply.status > 599 || (isRedirect && request.redirect === 'error')) {
    reply.body.destroy()
    if (isRedirect)
      throw new EgressError(
        'TOO_MANY_REDIRECTS',
        'The response is a redirect, which this request does not allow.',
        true,
      )
    throw new EgressError('NETWORK', 'The response has an invalid HTTP status.', true)
  }
  const empty = hasNoBody(reply.status) || request.method === 'HEAD'
  if (empty) reply.body.on('error', () => {}).resume()
  const body = empty ? null : (Readable.toWeb(capBody(reply.body, maxBytes)) as ReadableStream<Uint8Array>)
  const response = new Response(body, { status: reply.status, headers: webHeaders(reply.headers) })
  return Object.defineProperties(response, {
    url: { value: facts.url },
    redirected: { value: facts.redirected },
  })
}
