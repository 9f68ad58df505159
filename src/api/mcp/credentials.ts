/** Who is asking: a bearer token or a key in the header of S1; and what is told to those who have neither. */
import type { IncomingHttpHeaders } from 'node:http'

/**
 * The secret of a request. Both headers may be there when they say the same. Empty, which is nobody's, when they differ
 * or one of them has another form. Headers that name a tenant are not read at all.
 */
export function secretOf(headers: IncomingHttpHeaders): string | null {
  const { authorization } = headers
  const bearer = authorization === undefined ? null : (/^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '')
  const key = headers['x-agent-api-key']?.toString() ?? null
  if (bearer === '' || (bearer !== null && key !== null && bearer !== key)) return ''
  return bearer ?? key
}

/** What S0 asks of a server that wants a token. */
export function challenge(
  metadata: string,
  error: 'invalid_token' | 'insufficient_scope',
  scope?: string,
): string {
  return `Bearer resource_metadata="${metadata}", error="${error}"${scope ? `, scope="${scope}"` : ''}`
}

/** Protected Resource Metadata (RFC 9728). */
export function resourceMetadata(resource: string, issuer: string | null): object {
  return {
    resource,
    ...(issuer ? { authorization_servers: [issuer] } : {}),
    bearer_methods_supported: ['header'],
    resource_name: 'Gatehouse',
  }
}
