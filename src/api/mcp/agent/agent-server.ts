/** The SDK server of one agent request: the SDK implements the protocol, the handlers serve the agent's surface. */
import type { CallToolResult, InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server'
import { exactServer } from '../http/transports.ts'
import type { BridgeSurface } from '../../../domain/bridge/index.ts'
import { type AgentRequest, addLogLevel } from '../http/agent-request.ts'
import { requestStateCodec } from '../delivery/request-state.ts'
import type { SendServerRequest } from '../http/server-requests.ts'
import { addTasks, tasksExtension, type ToolsCallResult } from '../delivery/tasks.ts'
import { callTool, type CallParams } from '../delivery/tools-call.ts'
import { isToolsList, placeholderTools } from './fast-tools-list.ts'
import { listTools } from './tools-list.ts'
import { addUpstreamFeatures, featureCapabilities } from './upstream-features.ts'

/** How long a client may cache a list, in milliseconds. Changes are notified to clients that listen. */
const listTtlMs = 5000

/** How the server names itself. */
export function serverInfoOf({ name, version }: BridgeSurface['agent']): { name: string; version: string } {
  return { name: `gatehouse/${name}`, version: String(version) }
}

/**
 * A stateless server for one request, or for one message of a batch. With `outcome` a tools/call has been served already, and
 * the server returns or throws what `outcome` does.
 */
export function agentServer(request: AgentRequest, outcome?: () => ToolsCallResult): Server {
  const { agent, features } = request.surface
  const modern = request.era === 'modern'
  const cacheable = { ttlMs: listTtlMs, cacheScope: 'private' } as const
  const server = exactServer(serverInfoOf(agent), {
    capabilities: {
      tools: { listChanged: true },
      ...featureCapabilities(features),
      ...(modern ? { extensions: { [tasksExtension]: {} } } : { logging: {} }),
    },
    cacheHints: {
      'tools/list': cacheable,
      'prompts/list': cacheable,
      'resources/list': cacheable,
      'resources/templates/list': cacheable,
      'server/discover': cacheable,
    },
    requestState: { verify: requestStateCodec(request).verify },
    // The SDK's shim would hold a legacy request open for all rounds; `delivery.ts` decides how long it is held.
    inputRequired: { legacyShim: false },
  })
  server.setRequestHandler('tools/list', () => ({
    tools: isToolsList(request.body) ? placeholderTools() : listTools(request),
  }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const serve = () => callTool(request, params as CallParams, context, senderOf(server, context))
    const result = await (outcome ?? serve)()
    // The SDK's types do not include the results of the Tasks extension.
    return result as CallToolResult | InputRequiredResult
  })
  addUpstreamFeatures(server, request)
  if (request.era === 'modern') addTasks(server, request)
  else addLogLevel(server, request)
  return server
}

/** Sends a request of this server on the stream of the client's request. */
function senderOf(server: Server, { mcpReq }: ServerContext): SendServerRequest {
  return async (request) => server.transport?.send(request, { relatedRequestId: mcpReq.id })
}
