/** Turns an upstream's response to a call into a tool result: every block kept, within the configured limits. */
import { errorResult, type ContentBlock, type ToolResult } from '../../../core/content.ts'
import { isJsonObject, jsonTooBig, type Json, type JsonObject } from '../../../core/json.ts'
import { keptOutput, outputFault, ranResult, textIn } from '../../../core/output.ts'
import type { FaultCode, UpstreamFault } from '../fault.ts'
import type { Answer } from './answers.ts'
import { readToolResult } from './content.ts'

const maxDepth = 64
const maxBlocks = 500

/**
 * A result that is too large, or that does not fit the tool's outputSchema, becomes an error, which says that the call ran and
 * has its text as far as it can be kept.
 */
export function resultOf(
  answer: Answer,
  outputSchema: JsonObject | null,
  projectId: string,
  maxBytes: number,
): ToolResult {
  if ('tooLarge' in answer) return ranResult('response_too_large', 'is too large to be read', answer.tooLarge)
  const read = readToolResult(answer.result)
  const tooBig = jsonTooBig(answer.result, { maxBytes, maxDepth })
  if (tooBig && read.isError)
    return errorResult(
      'response_too_large',
      `The call ran and failed, and its error ${tooBig}.`,
      keptOutput(textIn(read)),
    )
  if (tooBig) return ranResult('response_too_large', tooBig, textIn(read))
  const { content, structuredContent, ...rest } = read
  const fault = read.isError ? null : faultIn(outputSchema, projectId, structuredContent)
  if (fault) return ranResult('output_schema_violation', fault, textIn(read))
  const left = content.length - maxBlocks
  const note: ContentBlock[] =
    left > 0 ? [{ type: 'text', text: `[… ${left} more blocks were left out …]` }] : []
  // Null is a value only where a schema says so.
  const isAbsent = (structuredContent ?? null) === null && (read.isError || !outputSchema)
  return {
    content: [...content.slice(0, maxBlocks), ...note],
    ...(isAbsent || structuredContent === undefined ? {} : { structuredContent }),
    ...rest,
  }
}

function faultIn(outputSchema: JsonObject | null, projectId: string, value: Json | undefined): string | null {
  if (!outputSchema) return null
  if (value === undefined) return 'has no structured content, which its outputSchema requires'
  return outputFault(outputSchema, projectId, value)
}

/** Whether the server, another Gatehouse, says itself that it does not know the outcome. */
export function isUnknown({ isError, structuredContent }: ToolResult): boolean {
  const error = isJsonObject(structuredContent) ? structuredContent['error'] : undefined
  return isError && isJsonObject(error) && error['code'] === 'outcome_unknown'
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
