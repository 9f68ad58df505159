/**
 * Every name of a span and attribute. `gen_ai.*` and `mcp.*` are those of open-telemetry/semantic-conventions-genai, which
 * had no release on 2026-11-21, when they were read; all are of status Development there and may be renamed. MCP's own
 * document of trace contexts is SEP-414. What has no convention begins with `gatehouse.`.
 */

/** The name of a span, before the agent, model or tool that it is about. */
export const spanNames = {
  agent: 'invoke_agent',
  model: 'chat',
  tool: 'execute_tool',
  mcp: 'tools/call',
} as const

export const attributeNames = {
  errorType: 'error.type',
  operation: 'gen_ai.operation.name',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  conversation: 'gen_ai.conversation.id',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  mcpMethod: 'mcp.method.name',
  mcpVersion: 'mcp.protocol.version',
  rpcId: 'jsonrpc.request.id',
  rpcStatus: 'rpc.response.status_code',
  generation: 'gatehouse.generation.id',
  activation: 'gatehouse.activation',
  outcome: 'gatehouse.outcome',
  approval: 'gatehouse.approval.id',
  verdict: 'gatehouse.approval.verdict',
  waitMs: 'gatehouse.approval.wait_ms',
} as const
