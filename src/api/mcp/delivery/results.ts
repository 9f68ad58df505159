/** Results of tools/call: a tool's own result, and those for calls that are late, pending or refused. Pure. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ToolResult } from '../../../core/content.ts'
import { asText, isJsonObject, type Json, type JsonObject, writeJson } from '../../../core/json.ts'
import type { BridgeEntry, CallHandle } from '../../../domain/bridge/index.ts'
import type { AgentRequest } from '../http/agent-request.ts'
import { codes, faultError, missingCapability, protocolError, type ProtocolFault } from '../http/errors.ts'

/** Failures that a retry may avoid, and that had no effect or may safely have it twice. */
const retryable = new Set([
  'timeout',
  'agent_timeout',
  'unreachable',
  'model_rate_limited',
  'model_unavailable',
])

/**
 * The result of a call that is done. Throws the upstream's error when the client lacks a capability, and with the SEED
 * profile -32003 for a timeout.
 */
export function resultOf(
  { era, seedErrors }: Pick<AgentRequest, 'era' | 'seedErrors'>,
  id: string,
  result: ToolResult,
): CallToolResult {
  const fault = protocolFaultOf(result)
  if (fault?.code === missingCapability) throw faultError(fault)
  const type = errorTypeOf(result)
  if (seedErrors && type === 'agent_timeout') throw seedTimeout(id, true)
  if (seedErrors && type === 'outcome_unknown' && reasonOf(result) === 'timeout') throw seedTimeout(id, false)
  const structured = type === null ? result.structuredContent : typedError(result, type, id)
  // Legacy clients accept only objects as structured content.
  const allowed = era === 'modern' || isJsonObject(structured)
  return {
    content: result.content as CallToolResult['content'],
    ...(structured !== undefined && allowed ? { structuredContent: structured as JsonObject } : {}),
    isError: result.isError,
    _meta: { ...result._meta, 'gatehouse/call_id': id },
  }
}

/** The JSON-RPC error with which an upstream refused the call; null when the tool ran, or failed as a tool. */
export function protocolFaultOf({ isError, structuredContent }: ToolResult): ProtocolFault | null {
  const error = (structuredContent as { error?: JsonObject } | undefined)?.error
  if (!isError || typeof error?.['rpcCode'] !== 'number') return null
  const { rpcCode: code, message, rpcData: data } = error
  return { code, message: asText(message), ...(isJsonObject(data) ? { data } : {}) }
}

/**
 * A timeout error for a call that goes on. `resumable`: the same request, with its idempotency key or call id, returns the
 * outcome; without one it would be another call.
 */
export function lateResult(
  { seedErrors }: Pick<AgentRequest, 'seedErrors'>,
  id: string,
  resumable: boolean,
): CallToolResult {
  if (seedErrors) throw seedTimeout(id, resumable)
  const how = resumable
    ? 'repeat this request unchanged'
    : `call the tool approval_wait with {"call_id": "${id}"}`
  const message = `Agent reply timeout. The call goes on: ${how} to get its outcome.`
  const error = { type: 'agent_timeout', code: 'agent_timeout', message, retryable: resumable, call_id: id }
  return { content: [{ type: 'text', text: message }], structuredContent: { error }, isError: true }
}

function seedTimeout(id: string, canRetry: boolean) {
  const data = { retryable: canRetry, call_id: id }
  return protocolError(codes.timeoutSeed, 'Agent reply timeout', 'agent_timeout', data)
}

/** A call that awaits approval: neither an error nor a success. */
export function pendingResult({ id, pendingApproval }: CallHandle, retryAfterMs: number): CallToolResult {
  const { approvalId, expiresAt, login } = pendingApproval!
  const until = expiresAt.toISOString()
  return {
    content: [
      {
        type: 'text',
        text:
          `Not executed yet: ${waitsFor(login)}, until ${until}. To wait for the outcome, call the tool ` +
          `approval_wait with {"call_id": "${id}"}, or repeat this request unchanged. Nothing runs twice. To withdraw ` +
          `the call, use the tool approval_cancel.`,
      },
    ],
    structuredContent: {
      status: 'pending_approval',
      call_id: id,
      approval_id: approvalId,
      expires_at: until,
      ...(login === null ? {} : { login_url: login }),
      retry_after_ms: retryAfterMs,
    },
    isError: false,
    _meta: { 'gatehouse/call_id': id },
  }
}

/** What a call waits for. */
export function waitsFor(login: string | null): string {
  return login === null
    ? 'a person has to approve this call'
    : `the person for whom this call is made has to log in at the server of the tool, at ${login}`
}

/** A call that its caller has withdrawn. */
export function withdrawnResult(id: string): CallToolResult {
  return {
    content: [{ type: 'text', text: 'This call was withdrawn. Nobody can approve it any more.' }],
    structuredContent: { status: 'cancelled', call_id: id },
    isError: false,
    _meta: { 'gatehouse/call_id': id },
  }
}

/** Refused arguments as a result, because models read results and not JSON-RPC errors. */
export function refusedResult(type: string, message: string, issues: object[]): CallToolResult {
  const error = { type, code: type, message, ...(issues.length > 0 ? { issues } : {}) } as JsonObject
  return {
    content: [{ type: 'text', text: writeJson({ error }) }],
    structuredContent: { error },
    isError: true,
  }
}

/** A rate limit as a result: the message for the model, the time to wait for its program. */
export function limitedResult(message: string, retryAfterMs: number): CallToolResult {
  const error = { type: 'limited', code: 'limited', message, retry_after_ms: retryAfterMs }
  return {
    content: [{ type: 'text', text: writeJson({ error }) }],
    structuredContent: { error },
    isError: true,
  }
}

/** Adds the conversation in which a later call of the agent can continue. */
export function withConversation(result: CallToolResult, id: string | null): CallToolResult {
  return id ? { ...result, _meta: { ...result._meta, 'gatehouse/conversation_id': id } } : result
}

/**
 * The result as this client can read it. Clients of SDK v1, which are legacy, check the structured content of every result
 * against the tool's outputSchema, that of an error too, and throw what does not fit, so that their model never sees the
 * reason. So an error of a tool with an outputSchema has its structured content as a last text. Later clients check only
 * results that are no errors; a pending result fits the schema that `listTools` serves for a gated tool.
 */
export function readableResult<Result extends object>(
  { era }: Pick<AgentRequest, 'era'>,
  entry: Pick<BridgeEntry, 'outputSchema'> | undefined,
  result: Result,
): Result {
  if (era === 'modern' || !entry?.outputSchema) return result
  const { structuredContent, ...rest } = result as Partial<CallToolResult>
  if (!rest.isError || structuredContent === undefined) return result
  const text = writeJson(structuredContent)
  const content = rest.content ?? []
  const isSaid = content.some((block) => block.type === 'text' && block.text === text)
  return { ...rest, content: isSaid ? content : [...content, { type: 'text', text }] } as unknown as Result
}

function errorTypeOf({ isError, structuredContent }: ToolResult): string | null {
  if (!isError) return null
  const error = (structuredContent as { error?: { code?: Json } } | undefined)?.error
  const code = typeof error?.code === 'string' ? error.code : 'tool_error'
  return code === 'timeout' ? 'agent_timeout' : code
}

function reasonOf({ structuredContent }: ToolResult): unknown {
  return (structuredContent as { error?: { reason?: Json } } | undefined)?.error?.reason
}

/** The error of a failed tool with a stable `type`, whether a retry is useful, and the call id. */
function typedError({ structuredContent, content }: ToolResult, type: string, id: string): JsonObject {
  const given = (structuredContent as { error?: Json } | undefined)?.error
  const [first] = content
  const known: JsonObject = isJsonObject(given)
    ? given
    : { code: type, message: first?.type === 'text' ? first.text.slice(0, 2000) : 'The tool failed.' }
  const canRetry = retryable.has(type) && known['retryable'] !== false
  return { error: { ...known, type, retryable: canRetry, call_id: id } }
}
