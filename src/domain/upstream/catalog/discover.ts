/** Reads everything that an upstream offers. Writes nothing. */
import { z } from 'zod'
import type { DiscoverResult } from '@modelcontextprotocol/client'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Lease } from '../../../core/pool.ts'
import type { Services } from '../../access/index.ts'
import { stepUp } from '../oauth/auth.ts'
import { borrowLink, isStale } from '../wire/ask.ts'
import type { Catalog } from './catalog.ts'
import { collectCatalog, type AskPage, type ServerFacts } from './collect.ts'
import { faultOf, mayHaveLostSession, UpstreamFault } from '../fault.ts'
import type { Link } from '../wire/link.ts'
import type { UpstreamRow, NegotiatedProtocol } from '../state.ts'
import { targetOf } from '../target.ts'
import { trackDelivery } from '../wire/wire.ts'

export interface Discovery {
  catalog: Catalog
  /** How long the catalog is valid, by the upstream's own `ttlMs`, in milliseconds. */
  ttlMs: number | null
  protocol: NegotiatedProtocol
  /** Whether the protocol was negotiated during this discovery. */
  probed: boolean
}

/** Time for one page of a list, in milliseconds. */
const pageMs = 15_000
/** Accepts any entries: the SDK would refuse a whole page for one invalid entry; `collectCatalog` checks each one. */
const page = z.looseObject({})

/**
 * Throws an UpstreamFault, or the signal's reason. A stale connection, or one whose token lacks scopes that can be
 * requested, is opened again once.
 */
export async function discover(
  services: Services,
  row: UpstreamRow,
  known: Catalog,
  signal: AbortSignal,
): Promise<Discovery> {
  for (let protocol = row.protocol, tries = 1; ; protocol = null, tries++) {
    let lease: Lease<Link> | null = null
    try {
      lease = await borrowLink(services, row, protocol)
      return await discoverOver(lease.resource, known, row.projectId, signal)
    } catch (error) {
      const fault = faultOf(error)
      const poor = fault.code === 'insufficient_scope'
      const wrong = lease !== null && (isStale(fault, lease.resource) || mayHaveLostSession(fault))
      if (lease && poor) services.connections.retire(lease.resource)
      if (wrong) lease?.resource.giveUp()
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

/** Like `discover`, over an open connection. */
export async function discoverOver(
  link: Link,
  known: Catalog,
  projectId: string,
  signal: AbortSignal,
): Promise<Discovery> {
  const ask: AskPage = async (method, cursor) => {
    const params = cursor === undefined ? {} : { cursor }
    const result = await trackDelivery(signal, (stop) =>
      link.client.request({ method, params }, page, { timeout: pageMs, signal: stop }),
    )
    const answer = link.answerFor(result)
    if ('tooLarge' in answer)
      throw new UpstreamFault('response_too_large', 'A list of the server is too large to read.')
    return isJsonObject(answer.result) ? answer.result : {}
  }
  const described = link.era === 'modern' ? await describe(link, signal) : null
  const facts = described?.facts ?? link.facts
  const found = await collectCatalog(ask, facts, known, projectId)
  const protocol = described ? { ...link.protocol, discover: described.discover } : link.protocol
  return { ...found, protocol, probed: link.probed || described !== null }
}

/** A modern server may have changed since the connection was opened, and reports it only when asked. */
async function describe(
  link: Link,
  signal: AbortSignal,
): Promise<{ discover: DiscoverResult; facts: ServerFacts }> {
  const described = await trackDelivery(signal, (stop) =>
    link.client.discover({ timeout: pageMs, signal: stop }),
  )
  const { capabilities, instructions } = described
  const facts = {
    server: link.facts.server,
    instructions: instructions ?? null,
    capabilities: capabilities as JsonObject,
  }
  return { discover: described, facts }
}
