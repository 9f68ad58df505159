/** The URL paths of the MCP endpoints. Pure. */

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
