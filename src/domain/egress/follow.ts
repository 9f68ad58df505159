/** Sends a request and follows its redirects; the URL of every redirect is checked before it is connected to. */
import { decoded } from './body.ts'
import { EgressError } from './egress-error.ts'
import type { Reply, Send, Trace } from './exchange.ts'
import type { Guard } from './policy.ts'
import { nextHop, targetOf, type Hop } from './redirects.ts'

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
          reply: decoded(reply, hop.method),
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
