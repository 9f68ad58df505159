/** Serves an agent's MCP endpoint. */
import { serveLegacyAgent } from './agent-legacy.ts'
import { serveModernAgent } from './agent-modern.ts'
import { readAgentRequest } from '../http/agent-request.ts'
import type { McpRequest } from '../http/mcp-request.ts'
import type { McpRuntime } from '../http/mcp-runtime.ts'
import type { Reply } from '../http/node-http.ts'
import { plainCallOf } from '../delivery/plain-call.ts'
import { servePlainCall } from './serve-plain-call.ts'
import { recallList } from './tools-list-memo.ts'

/** Serves one request of either protocol era. Throws NOT_FOUND for an agent that the caller may not see. */
export async function serveAgent(
  runtime: McpRuntime,
  mcpRequest: McpRequest,
  agentId: string,
): Promise<Reply> {
  const surface = await runtime.surfaces.of(mcpRequest.ctx, agentId)
  const known = recallList(surface, mcpRequest)
  if (known) return known
  const plain = plainCallOf(mcpRequest)
  if (plain) return servePlainCall(runtime, mcpRequest, { agentId, surface }, plain)
  const request = await readAgentRequest(runtime, mcpRequest, agentId, surface)
  if (request instanceof Response) return { response: request }
  return request.era === 'modern' ? serveModernAgent(request) : serveLegacyAgent(request)
}
