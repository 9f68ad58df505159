/**
 * Who may ask, and where: Host and Origin, the paths of the endpoints, the secret in the headers and the challenge
 * without one. Pure.
 */
import { isAllowedOrigin, type OriginRules } from '../../../core/cookies.ts'
import { hostFault } from '../../../core/addresses.ts'
import type { IncomingHttpHeaders } from 'node:http'

export interface GuardRules extends OriginRules {
  /** Host names that are served beside localhost and IP addresses; `*` allows every name. */
  allowedHosts: readonly string[]
}

/**
 * Why a request is refused, or null. A web page can make a browser send requests here, also under a host name that was
 * pointed at this machine. So Host must be one of ours, and Origin our own or allowed.
 */
export function refusalOf(
  host: string | undefined,
  origin: string | undefined,
  rules: GuardRules,
): string | null {
  const fault = hostFault(host, rules.allowedHosts)
  if (fault) return fault
  return isAllowedOrigin({ origin, host }, rules)
    ? null
    : 'Requests from this origin are not allowed. The operator can allow it with GATEHOUSE_CORS_ORIGINS.'
}

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

/** An agent's MCP server, the platform's own MCP server, or the Protected Resource Metadata of one of them. */
export type Endpoint =
  | { kind: 'agent'; agentId: string; path: string }
  | { kind: 'platform'; path: string }
  | { kind: 'metadata'; path: string }

const wellKnown = '/.well-known/oauth-protected-resource'
const agentPath = /^(?:\/mcp\/(agt_[0-9a-z]{1,60})|\/(agt_[0-9a-z]{1,60})\/mcp)$/

/** The endpoint at a path, or null. For metadata, `path` is the path of the resource that it describes. */
export function endpointOf(path: string): Endpoint | null {
  if (path.startsWith(`${wellKnown}/`)) return metadataEndpoint(path.slice(wellKnown.length))
  if (path.endsWith(wellKnown)) return metadataEndpoint(path.slice(0, -wellKnown.length))
  if (path === '/mcp') return { kind: 'platform', path }
  const found = agentPath.exec(path)
  if (found) return { kind: 'agent', agentId: (found[1] ?? found[2])!, path }
  // Any other id below /mcp/ is an agent that does not exist.
  return path.startsWith('/mcp/') ? { kind: 'agent', agentId: path.slice(5, 80), path } : null
}

function metadataEndpoint(path: string): Endpoint | null {
  return path === '/mcp' || agentPath.test(path) ? { kind: 'metadata', path } : null
}

/** The URL of a resource's metadata (RFC 9728, section 3.1). */
export function metadataUrl(publicUrl: string, path: string): string {
  return `${publicUrl}${wellKnown}${path}`
}

/** The audiences of tokens that this endpoint accepts: its canonical URL and its alias. */
export function resourcesOf(publicUrl: string, endpoint: Endpoint): string[] {
  if (endpoint.kind !== 'agent') return [`${publicUrl}/mcp`]
  return [`${publicUrl}/mcp/${endpoint.agentId}`, `${publicUrl}/${endpoint.agentId}/mcp`]
}
