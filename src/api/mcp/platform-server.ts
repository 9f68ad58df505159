/**
 * The platform's own MCP server, at /mcp in both protocol eras: the platform actions as tools, with the caller's
 * permissions.
 */
import { type CallToolResult, type Server, isLegacyRequest } from '@modelcontextprotocol/server'
import { approveCall, approveTool } from './approve.ts'
import { exactServer, serveLegacy, serveModern } from './http/transports.ts'
import type { Log } from '../../core/log.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { asCallUnit } from './http/call-unit.ts'
import { codes, protocolError, toProtocolError, rpcError } from './http/errors.ts'
import { type McpRequest, acceptsStream } from './http/mcp-request.ts'
import { assertUnbound } from '../../domain/access/index.ts'
import { toWebRequest } from './http/node-http.ts'

/** How long a client may cache the list, in milliseconds. The actions change only with the server's version. */
const listTtlMs = 60_000

/** A server for one request. `seedErrors`: unknown tools get -32601 instead of -32602. */
function platformServer(request: McpRequest, seedErrors: boolean, log: Log): Server {
  const { actions } = request.ctx
  const server = exactServer(
    { name: 'gatehouse', version: '1' },
    {
      capabilities: { tools: {} },
      cacheHints: { 'tools/list': { ttlMs: listTtlMs, cacheScope: 'private' } },
    },
  )
  server.setRequestHandler('tools/list', () => ({
    tools: [
      ...actions.list().map(({ name, description, inputSchema, annotations }) => ({
        name,
        description,
        inputSchema: inputSchema as { type: 'object' },
        annotations,
      })),
      approveTool,
    ],
  }))
  server.setRequestHandler('tools/call', ({ params }): Promise<CallToolResult> => {
    const known = params.name === approveTool.name || actions.find(params.name)
    return asCallUnit(request, params, known ? 'platform' : 'unknown', async (ctx) => {
      try {
        if (params.name === approveTool.name) {
          const text = await approveCall(ctx, (params.arguments ?? {}) as JsonObject, request.disconnected)
          return { content: [{ type: 'text', text }] }
        }
        if (!known)
          throw protocolError(
            seedErrors ? codes.unknownToolSeed : codes.invalidParams,
            `Unknown tool: ${params.name.slice(0, 100)}`,
            'unknown_tool',
          )
        const result = await actions.run(ctx, params.name, (params.arguments ?? {}) as JsonObject)
        const { content, structuredContent, isError } = result
        return {
          content: content as CallToolResult['content'],
          ...(isJsonObject(structuredContent) ? { structuredContent } : {}),
          isError,
        }
      } catch (error) {
        throw toProtocolError(error, log)
      }
    })
  })
  return server
}

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
