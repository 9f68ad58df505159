/** Turns an upstream's response to a call into a tool result: every block kept, within the configured limits. */
import type { CallToolResult } from '@modelcontextprotocol/client'
import { errorResult, type ContentBlock, type ToolResult } from '../../../core/content.ts'
import { issuesIn } from '../../../core/json-schema.ts'
import { isJsonObject, jsonTooBig, type Json, type JsonObject } from '../../../core/json.ts'
import type { FaultCode, UpstreamFault } from '../fault.ts'

const maxDepth = 64
const maxBlocks = 500

/**
 * A result that is too large, or that does not fit the tool's outputSchema, becomes an error, so that no part of it is
 * used.
 */
export function resultOf(
  answer: CallToolResult,
  outputSchema: JsonObject | null,
  projectId: string,
  maxBytes: number,
): ToolResult {
  const tooBig = jsonTooBig(answer, { maxBytes, maxDepth })
  if (tooBig) return errorResult('response_too_large', `The result of the server ${tooBig}.`)
  const content = (answer.content ?? []) as ContentBlock[]
  const { structuredContent, _meta: meta } = answer
  const isError = answer.isError === true
  const fault = isError ? null : outputFault(outputSchema, projectId, structuredContent as Json | undefined)
  if (fault) return errorResult('output_schema_violation', fault)
  const left = content.length - maxBlocks
  const note: ContentBlock[] =
    left > 0 ? [{ type: 'text', text: `[… ${left} more blocks were left out …]` }] : []
  return {
    content: [...content.slice(0, maxBlocks), ...note],
    ...(structuredContent === undefined ? {} : { structuredContent: structuredContent as Json }),
    isError,
    ...(isJsonObject(meta) && Object.keys(meta).length > 0 ? { _meta: meta } : {}),
  }
}

/** Whether the server, another Gatehouse, says itself that it does not know the outcome. */
export function isUnknown({ isError, structuredContent }: ToolResult): boolean {
  const error = isJsonObject(structuredContent) ? structuredContent['error'] : undefined
  return isError && isJsonObject(error) && error['code'] === 'outcome_unknown'
}

function outputFault(
  outputSchema: JsonObject | null,
  projectId: string,
  value: Json | undefined,
): string | null {
  if (!outputSchema) return null
  if (value === undefined) return 'The tool has an outputSchema, but its output has no structured content.'
  const issues = issuesIn(outputSchema, projectId, value)
  if (issues.length === 0) return null
  const where = issues.map((issue) => `${['output', ...issue.path].join('.')} ${issue.message}`).join('; ')
  return `The tool's output does not fit its outputSchema: ${where}`
}

/** Faults of the transport, not of the tool: for these the message says whether the call may have taken effect. */
const transportFaults = new Set<FaultCode>([
  'connection_lost',
  'http_error',
  'invalid_response',
  'timeout',
  'unreachable',
])

/** A failure as a result. `sent` is false when the upstream certainly did not act on the call. */
export function faultResult({ code, message, facts }: UpstreamFault, sent: boolean): ToolResult {
  const effect = !transportFaults.has(code)
    ? ''
    : sent
      ? ' The call may have taken effect.'
      : ' The call was not sent.'
  return errorResult(code, message + effect, {
    sent,
    ...(facts.retryAfterMs === undefined ? {} : { retryAfterMs: facts.retryAfterMs }),
    ...(facts.rpcCode === undefined ? {} : { rpcCode: facts.rpcCode }),
    ...rpcDataOf(facts.rpcData),
  })
}

const rpcDataLimits = { maxBytes: 8 * 1024, maxDepth: 10 }

/** The `data` of the upstream's JSON-RPC error, when it is small. Untrusted. */
function rpcDataOf(data: unknown): JsonObject {
  return isJsonObject(data) && !jsonTooBig(data, rpcDataLimits) ? { rpcData: data } : {}
}
