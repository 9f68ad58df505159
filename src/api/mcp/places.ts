/** The addresses of the bridge. */

/** An agent's bridge, the platform's own server, or the document that tells clients where tokens come from. */
export type Place =
  | { kind: 'agent'; agentId: string; path: string }
  | { kind: 'platform'; path: string }
  | { kind: 'metadata'; path: string }

const wellKnown = '/.well-known/oauth-protected-resource'
const agent = /^(?:\/mcp\/(agt_[0-9a-z]{1,60})|\/(agt_[0-9a-z]{1,60})\/mcp)$/

/** The place of a path, or null when it is none of the bridge. `path` of a place is the address of its resource. */
export function placeOf(path: string): Place | null {
  if (path.startsWith(`${wellKnown}/`)) return metadataOf(path.slice(wellKnown.length))
  if (path.endsWith(wellKnown)) return metadataOf(path.slice(0, -wellKnown.length))
  if (path === '/mcp') return { kind: 'platform', path }
  const found = agent.exec(path)
  if (found) return { kind: 'agent', agentId: (found[1] ?? found[2])!, path }
  // Another id under our own root is an agent that does not exist.
  return path.startsWith('/mcp/') ? { kind: 'agent', agentId: path.slice(5, 80), path } : null
}

function metadataOf(path: string): Place | null {
  return path === '/mcp' || agent.test(path) ? { kind: 'metadata', path } : null
}

/** Where the metadata of a resource is (RFC 9728, section 3.1). */
export function metadataUrl(publicUrl: string, path: string): string {
  return `${publicUrl}${wellKnown}${path}`
}

/** What a token may be issued for to be good at this place: the canonical address and its alias. */
export function resourcesOf(publicUrl: string, place: Place): string[] {
  if (place.kind !== 'agent') return [`${publicUrl}/mcp`]
  return [`${publicUrl}/mcp/${place.agentId}`, `${publicUrl}/${place.agentId}/mcp`]
}
