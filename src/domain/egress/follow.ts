/** Follows one request to its final answer: every hop is checked anew before anything is connected. */
import type { Dispatcher } from 'undici'
import { decoded } from './body.ts'
import { EgressError } from './egress-error.ts'
import { exchange, type Reply, type Trace } from './exchange.ts'
import type { Guard } from './policy.ts'
import { nextHop, targetOf, type Hop } from './redirects.ts'

interface Following {
  /** Zero hands a redirect back as the answer it is. */
  maxRedirects: number
  /** Headers that stay behind when a redirect leaves the origin, beside the well-known ones. */
  sensitiveHeaders: readonly string[]
  signal: AbortSignal | null
  trace: Trace
  /** A connection of its own, closed afterwards. */
  single: boolean
}

/** Rejects with an EgressError, the signal's reason or undici's error. The caller reads or destroys the body. */
export type Follow = (
  first: Omit<Hop, 'url'> & { url: string | URL },
  following: Following,
) => Promise<{ reply: Reply; url: URL; redirected: boolean }>

export function createFollow(guard: Guard, agents: { shared: Dispatcher; single: Dispatcher }): Follow {
  return async (first, { maxRedirects, sensitiveHeaders, signal, trace, single }) => {
    const sensitive = sensitiveHeaders.map((name) => name.toLowerCase())
    const agent = single ? agents.single : agents.shared
    let hop: Hop = { ...first, url: guard.accept(first.url) }
    for (let followed = 0; ; followed++) {
      const reply = await exchange(agent, hop, { signal, trace, single })
      const target = targetOf(reply.status, [reply.headers['location']].flat()[0])
      if (target === null || maxRedirects === 0)
        return { reply: decoded(reply, hop.method), url: hop.url, redirected: followed > 0 }
      reply.body.destroy()
      if (followed >= maxRedirects)
        throw new EgressError(
          'TOO_MANY_REDIRECTS',
          `The answer redirects more than ${maxRedirects} times.`,
          true,
        )
      const next = nextHop(hop, reply.status, target, sensitive)
      hop = { ...next, url: guard.accept(next.url) }
    }
  }
}
