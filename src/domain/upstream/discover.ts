/** Asks an upstream for everything it offers. Writes nothing. */
import { z } from 'zod'
import type { DiscoverResult } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../core/json.ts'
import type { Lease } from '../../core/pool.ts'
import type { Services } from '../access/index.ts'
import { stepUp } from './auth.ts'
import { borrowLink, isStale } from './borrow.ts'
import type { Catalog } from './catalog.ts'
import { collectCatalog, type AskPage, type ServerFacts } from './collect.ts'
import { faultOf, UpstreamFault } from './fault.ts'
import type { Link } from './link.ts'
import type { UpstreamRow, Verdict } from './state.ts'
import { targetOf } from './target.ts'
import { watched } from './wire.ts'

export interface Discovery {
  catalog: Catalog
  /** How long the upstream says that it is good for, in milliseconds. */
  ttlMs: number | null
  verdict: Verdict
  /** Whether the verdict was found out just now. */
  probed: boolean
}

/** Time for one page of a list, in milliseconds. */
const pageMs = 15_000
/** The SDK would refuse a whole page for one bad entry of it; ours are looked at one by one. */
const page = z.looseObject({})

/**
 * Throws an UpstreamFault, or the signal's reason. A connection on wrong beliefs, or with too few rights where more can be
 * had, is made anew, once.
 */
export async function discover(
  services: Services,
  row: UpstreamRow,
  known: Catalog,
  signal: AbortSignal,
): Promise<Discovery> {
  for (let verdict = row.verdict, tries = 1; ; verdict = null, tries++) {
    let lease: Lease<Link> | null = null
    try {
      lease = await borrowLink(services, row, verdict)
      return await discoverOver(lease.thing, known, signal)
    } catch (error) {
      const fault = faultOf(error)
      const poor = fault.code === 'insufficient_scope'
      const wrong = lease !== null && (fault.code === 'connection_lost' || isStale(fault, lease.thing))
      if (lease && (poor || wrong)) services.connections.retire(lease.thing)
      if (!(poor || wrong) || tries > 1 || signal.aborted) throw fault
      if (poor)
        await stepUp(
          services,
          row,
          await targetOf(services, row.projectId, row.config),
          fault.facts.scope ?? '',
        )
    } finally {
      lease?.release()
    }
  }
}

/** The same over a connection that is at hand. */
export async function discoverOver(link: Link, known: Catalog, signal: AbortSignal): Promise<Discovery> {
  const ask: AskPage = (method, cursor) =>
    watched(signal, (stop) =>
      link.client.request({ method, params: cursor === undefined ? {} : { cursor } }, page, {
        timeout: pageMs,
        signal: stop,
      }),
    ) as Promise<JsonObject>
  const described = link.era === 'modern' ? await describe(link, signal) : null
  const facts = described?.facts ?? link.facts
  const found = await collectCatalog(tolerant(ask), facts, known)
  const verdict = described ? { ...link.verdict, discover: described.discover } : link.verdict
  return { ...found, verdict, probed: link.probed || described !== null }
}

/** A server of the newer protocol may have changed since the connection was made; it says so only when it is asked. */
async function describe(
  link: Link,
  signal: AbortSignal,
): Promise<{ discover: DiscoverResult; facts: ServerFacts }> {
  const described = await watched(signal, (stop) => link.client.discover({ timeout: pageMs, signal: stop }))
  const { capabilities, instructions } = described
  const facts = {
    server: link.facts.server,
    instructions: instructions ?? null,
    capabilities: capabilities as JsonObject,
  }
  return { discover: described, facts }
}

/** Some servers announce what they do not have: a list that they refuse by its name is an empty one. */
function tolerant(ask: AskPage): AskPage {
  return async (method, cursor) => {
    try {
      return await ask(method, cursor)
    } catch (error) {
      const fault = faultOf(error)
      if (fault instanceof UpstreamFault && fault.facts.rpcCode === methodNotFound) return {}
      throw fault
    }
  }
}

const methodNotFound = -32601
