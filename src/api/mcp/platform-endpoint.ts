/** Serves the platform's own MCP endpoint, /mcp, in both protocol eras. */
import { isLegacyRequest } from '@modelcontextprotocol/server'
import type { Log } from '../../core/log.ts'
import { assertUnbound } from '../../domain/access/index.ts'
import { codes, rpcError } from './http/errors.ts'
import { acceptsStream, type McpRequest } from './http/mcp-request.ts'
import { toWebRequest } from './http/node-http.ts'
import { platformServer } from './platform-server.ts'
import { serveLegacy, serveModern } from './http/transports.ts'

/** Serves one request. FORBIDDEN for a key that is bound to an agent. */
export async function servePlatform(mcpRequest: McpRequest, log: Log): Promise<Response> {
  const { http, body, ctx, url, disconnected } = mcpRequest
  assertUnbound(ctx.principal)
  if (http.method !== 'POST') {
    const error = rpcError(null, codes.invalidRequest, 'This endpoint serves POST only.', {
      type: 'method_not_allowed',
    })
    return Response.json(error, { status: 405, headers: { allow: 'POST' } })
  }
  const seedErrors = http.headers['mcp-protocol-version'] === undefined
  const accept = seedErrors ? 'application/json, text/event-stream' : http.headers.accept
  const inbound = { request: toWebRequest(http, url, disconnected, accept), body }
  const server = () => platformServer(mcpRequest, seedErrors, log)
  return (await isLegacyRequest(inbound.request, body))
    ? serveLegacy(server, inbound, !acceptsStream(mcpRequest))
    : serveModern(server, inbound, log).response
}
