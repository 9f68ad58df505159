/** The platform's own MCP server: the platform actions as tools, with the caller's permissions. */
import type { CallToolResult, Server } from '@modelcontextprotocol/server'
import { exactServer } from './http/exact-server.ts'
import type { Log } from '../../core/log.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { asCallUnit } from './http/call-unit.ts'
import { codes, protocolError, toProtocolError } from './http/errors.ts'
import type { McpRequest } from './http/mcp-request.ts'

/** How long a client may cache the list, in milliseconds. The actions change only with the server's version. */
const listTtlMs = 60_000

/** A server for one request. `seedErrors`: unknown tools get -32601 instead of -32602. */
export function platformServer(request: McpRequest, seedErrors: boolean, log: Log): Server {
  const { actions } = request.ctx
  const server = exactServer(
    { name: 'gatehouse', version: '1' },
    {
      capabilities: { tools: {} },
      cacheHints: { 'tools/list': { ttlMs: listTtlMs, cacheScope: 'private' } },
    },
  )
  server.setRequestHandler('tools/list', () => ({
    tools: actions.list().map(({ name, description, inputSchema, annotations }) => ({
      name,
      description,
      inputSchema: inputSchema as { type: 'object' },
      annotations,
    })),
  }))
  server.setRequestHandler('tools/call', ({ params }): Promise<CallToolResult> => {
    const known = actions.find(params.name)
    return asCallUnit(request, params, known ? 'platform' : 'unknown', async (ctx) => {
      try {
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
