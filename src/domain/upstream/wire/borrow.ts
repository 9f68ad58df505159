/** The open connections of this process: one for each upstream, shared by all requests. */
import type { Lease } from '../../../core/pool.ts'
import type { Services } from '../../access/index.ts'
import { authFor } from '../oauth/auth.ts'
import { noticeChange } from '../changes.ts'
import type { UpstreamFault } from '../fault.ts'
import { openLink, type Link } from './link.ts'
import type { UpstreamRow, NegotiatedProtocol } from '../state.ts'
import { targetOf } from '../target.ts'

/** Time to open a connection, negotiation included, in milliseconds. */
const openMs = 10_000

/**
 * Lends the shared connection and opens it when there is none. With `protocol` null the protocol is negotiated again.
 */
export async function borrowLink(
  services: Services,
  row: UpstreamRow,
  protocol: NegotiatedProtocol | null,
): Promise<Lease<Link>> {
  const target = await targetOf(services, row.projectId, row.config)
  const key = `upstream ${row.id}@${row.configVersion} ${target.key}`
  return services.connections.lease(key, async () => {
    const onChanged = noticeChange(services, row.id)
    const options = { protocol, auth: authFor(services, row, target), onChanged, timeoutMs: openMs }
    const link = await openLink(services, target, options)
    link.onDown(() => services.connections.retire(link))
    return link
  })
}

/**
 * True when the connection rests on outdated facts: its session no longer exists, or the server now speaks another
 * protocol version. Unless the error is the server's own, it did not act on the request.
 */
export function isStale(fault: UpstreamFault, link: Pick<Link, 'era'>): boolean {
  const { status, rpcCode } = fault.facts
  if (rpcCode === unsupportedVersion) return true
  if (fault.code !== 'http_error' && fault.code !== 'upstream_error') return false
  return status === 404 || status === 410 || status === 400 || (link.era === 'modern' && status === 405)
}

/** `UnsupportedProtocolVersionError` of the specification. */
const unsupportedVersion = -32022
