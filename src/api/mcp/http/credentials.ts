/** The caller's secret in the request headers, and the challenge for a client without a valid one. Pure. */
import type { IncomingHttpHeaders } from 'node:http'

/**
 * The secret from `Authorization: Bearer` or `X-Agent-API-Key`; null when there is neither. The empty string, which is
 * never valid, when the two differ or the Authorization header is malformed. No header selects a tenant.
 */
export function secretOf(headers: IncomingHttpHeaders): string | null {
  const { authorization } = headers
  const bearer = authorization === undefined ? null : (/^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '')
  const key = headers['x-agent-api-key']?.toString() ?? null
  if (bearer === '' || (bearer !== null && key !== null && bearer !== key)) return ''
  return bearer ?? key
}

/** The WWW-Authenticate header of a 401 or 403: where the resource's metadata is, and the missing scope (RFC 9728, RFC 6750). */
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
