/** Responses that are compressed while they are served. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const pack = promisify(gzip)

/** Shorter bodies fit into a packet or two as they are. */
const leastBytes = 2048

/** The codings that an Accept-Encoding header accepts, without those of weight 0. */
export function acceptedCodings(header: string | string[] | undefined): Set<string> {
  const parts = String(header ?? '').split(',')
  const accepted = parts.filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part))
  return new Set(accepted.map((part) => part.split(';', 1)[0]!.trim().toLowerCase()))
}

/**
 * The body as gzip, for a client that accepts it, with the headers that say so; a short one as it is. The event loop does
 * not wait for it. Never for a body that is sent piece by piece. See docs/decisions/0059-answers-as-gzip.md.
 */
export async function packed(
  bytes: Buffer,
  acceptEncoding: string | undefined,
): Promise<{ bytes: Buffer; headers: Record<string, string> }> {
  // The headers of CORS depend on the origin (cors.ts).
  const headers = { vary: 'accept-encoding, Origin' }
  if (bytes.length < leastBytes || !acceptedCodings(acceptEncoding).has('gzip')) return { bytes, headers }
  const small = await pack(bytes)
  return { bytes: small, headers: { ...headers, 'content-encoding': 'gzip' } }
}
