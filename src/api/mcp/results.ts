/** Results on the wire: what a tool gave, with the marks of the bridge, and what is said while a person decides. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ToolResult } from '../../core/content.ts'
import { asText, isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Work } from '../../domain/bridge/index.ts'
import { codes, faultError, missingCapability, protocolError, type ProtocolFault } from './errors.ts'
import type { Visit } from './visit.ts'

/** Failures that a later try may not meet, and after which nothing has taken effect or may do so again. */
const retryable = new Set([
  'timeout',
  'agent_timeout',
  'unreachable',
  'model_rate_limited',
  'model_unavailable',
])

/** The result of work that is done. A timeout is an error of the protocol for callers in the style of S1. */
export function doneResult(
  visit: Pick<Visit, 'era' | 'seed'>,
  id: string,
  result: ToolResult,
): CallToolResult {
  const missing = protocolFaultOf(result)
  if (missing?.code === missingCapability) throw faultError(missing)
  const type = errorTypeOf(result)
  if (visit.seed && type === 'agent_timeout') throw seedTimeout(id, true)
  if (visit.seed && type === 'outcome_unknown' && reasonOf(result) === 'timeout') throw seedTimeout(id, false)
  const structured = type === null ? result.structuredContent : typed(result, type, id)
  const shown = visit.era === 'modern' || isJsonObject(structured)
  return {
    content: result.content as CallToolResult['content'],
    ...(structured !== undefined && shown ? { structuredContent: structured as JsonObject } : {}),
    isError: result.isError,
    _meta: { ...result._meta, 'gatehouse/call_id': id },
  }
}

/** The error of the protocol with which an upstream refused the call; null when it ran, or failed as a tool. */
export function protocolFaultOf({ isError, structuredContent }: ToolResult): ProtocolFault | null {
  const error = (structuredContent as { error?: JsonObject } | undefined)?.error
  if (!isError || typeof error?.['rpcCode'] !== 'number') return null
  const { rpcCode: code, message, rpcData: data } = error
  return { code, message: asText(message), ...(isJsonObject(data) ? { data } : {}) }
}

/**
 * The work took longer than a caller waits; it goes on, and its outcome can be asked for. With `keyed` by the same
 * request again; without a key that would be another call.
 */
export function lateResult(visit: Pick<Visit, 'seed'>, id: string, keyed: boolean): CallToolResult {
  if (visit.seed) throw seedTimeout(id, keyed)
  const how = keyed
    ? 'repeat the request with the same idempotency_key'
    : `call the tool approval_wait with {"call_id": "${id}"}`
  const message = `Agent reply timeout. The work goes on: ${how} to get its outcome.`
  const error = { type: 'agent_timeout', code: 'agent_timeout', message, retryable: keyed, call_id: id }
  return { content: [{ type: 'text', text: message }], structuredContent: { error }, isError: true }
}

function seedTimeout(id: string, again: boolean) {
  const more = { retryable: again, call_id: id }
  return protocolError(codes.timeoutSeed, 'Agent reply timeout', 'agent_timeout', more)
}

/** Nothing has run yet: no error, and no success either. */
export function pendingResult(work: Work, retryAfterMs: number): CallToolResult {
  const { approvalId, expiresAt } = work.pending!
  const until = expiresAt.toISOString()
  return {
    content: [
      {
        type: 'text',
        text:
          `Not executed yet: a person has to approve this call, until ${until}. To wait for the outcome, call the tool ` +
          `approval_wait with {"call_id": "${work.id}"}, or repeat this request unchanged. Nothing runs twice.`,
      },
    ],
    structuredContent: {
      status: 'pending_approval',
      call_id: work.id,
      approval_id: approvalId,
      expires_at: until,
      retry_after_ms: retryAfterMs,
    },
    isError: false,
    _meta: { 'gatehouse/call_id': work.id },
  }
}

/** A refusal of the arguments, for clients whose models read results and not errors. */
export function refusedResult(type: string, message: string, issues: object[]): CallToolResult {
  const error = { type, code: type, message, ...(issues.length > 0 ? { issues } : {}) } as JsonObject
  return {
    content: [{ type: 'text', text: JSON.stringify({ error }) }],
    structuredContent: { error },
    isError: true,
  }
}

/** A use beyond a limit, in words for the model and with the time to wait for its program. */
export function limitedResult(message: string, retryAfterMs: number): CallToolResult {
  const error = { type: 'limited', code: 'limited', message, retry_after_ms: retryAfterMs }
  return {
    content: [{ type: 'text', text: JSON.stringify({ error }) }],
    structuredContent: { error },
    isError: true,
  }
}

/** Where an answer of the agent can go on. */
export function withConversation(result: CallToolResult, id: string | null): CallToolResult {
  return id ? { ...result, _meta: { ...result._meta, 'gatehouse/conversation_id': id } } : result
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

function typed({ structuredContent, content }: ToolResult, type: string, id: string): JsonObject {
  const given = (structuredContent as { error?: Json } | undefined)?.error
  const [first] = content
  const known: JsonObject = isJsonObject(given)
    ? given
    : { code: type, message: first?.type === 'text' ? first.text.slice(0, 2000) : 'The tool failed.' }
  const again = retryable.has(type) && known['retryable'] !== false
  return { error: { ...known, type, retryable: again, call_id: id } }
}
