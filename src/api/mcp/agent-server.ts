/** The MCP server of one visit: the SDK keeps the protocol, the surface of the agent is what it serves. */
import { Server, type ServerContext } from '@modelcontextprotocol/server'
import { callTool, type CallParams } from './call.ts'
import { placeOfList } from './list-text.ts'
import { addRelay, relayedCapabilities } from './relay.ts'
import { roundCodec } from './rounds.ts'
import { addTasks, tasksExtension } from './tasks.ts'
import { listTools } from './tools-list.ts'
import type { Visit } from './visit.ts'

/** How long a client may believe a list that it got, in milliseconds; changes are told to those who listen. */
const listTtlMs = 5000

/** A server for one request, or for one message of a batch. It holds nothing. */
export function agentServer(visit: Visit): Server {
  const { agent } = visit.surface
  const modern = visit.era === 'modern'
  const server = new Server(
    { name: `gatehouse/${agent.name}`, version: String(agent.version) },
    {
      capabilities: {
        tools: { listChanged: true },
        ...relayedCapabilities(visit),
        ...(modern ? { extensions: { [tasksExtension]: {} } } : {}),
      },
      cacheHints: {
        'tools/list': { ttlMs: listTtlMs, cacheScope: 'private' },
        'prompts/list': { ttlMs: listTtlMs, cacheScope: 'private' },
        'resources/list': { ttlMs: listTtlMs, cacheScope: 'private' },
        'resources/templates/list': { ttlMs: listTtlMs, cacheScope: 'private' },
        'server/discover': { ttlMs: listTtlMs, cacheScope: 'private' },
      },
      requestState: { verify: roundCodec(visit.ctx, visit.agentId).verify },
      // A client of the old era cannot be asked to come back: its rounds would all be one long request.
      inputRequired: { legacyShim: false },
    },
  )
  server.setRequestHandler('tools/list', () => ({ tools: visit.lists ? placeOfList() : listTools(visit) }))
  server.setRequestHandler(
    'tools/call',
    ({ params }, mcp) => callTool(visit, params as CallParams, mcp, senderOf(server, mcp)) as never,
  )
  addRelay(server, visit)
  if (modern) addTasks(server, visit)
  return server
}

/** Sends a message of ours on the stream of the request that is being served. */
function senderOf(server: Server, { mcpReq }: ServerContext): (message: object) => Promise<void> {
  return async (message) => server.transport?.send(message as never, { relatedRequestId: mcpReq.id })
}
