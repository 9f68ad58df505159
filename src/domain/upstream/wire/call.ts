/**
 * Calls a tool of an upstream. Every outcome is a result that a model can read: every block kept, within the
 * configured limits.
 */
import { errorResult, type ContentBlock, type ToolResult } from '../../../core/content.ts'
import { isJsonObject, jsonTooBig, type Json, type JsonObject, packValue } from '../../../core/json.ts'
import { keptOutput, outputFault, ranResult, textIn } from '../../../core/output.ts'
import { type FaultCode, UpstreamFault, faultOf, isFinalAnswer, isOwnError } from '../fault.ts'
import type { Answer } from './answers.ts'
import { readToolResult } from './content.ts'
import type { CallToolResult, Progress, Tool as WireTool } from '@modelcontextprotocol/client'
import { shortText } from '../../../core/text.ts'
import { isStorageError } from '../../../store/db/storage-error.ts'
import type { Services } from '../../access/index.ts'
import { askUpstream, type UpstreamRequest, type InputRequired, type SendOptions } from './ask.ts'
import type { UpstreamTool } from '../catalog/catalog.ts'
import type { Link } from './link.ts'
import { relayedInput, relayedMeta } from './relay.ts'
import { loadCatalogs, type UpstreamRow } from '../state.ts'
import type { Delivery } from './wire.ts'

const maxDepth = 64
const maxBlocks = 500

/**
 * A result that is too large, or that does not fit the tool's outputSchema, becomes an error, which says that the call ran and
 * has its text as far as it can be kept.
 */
function resultOf(
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
function isUnknown({ isError, structuredContent }: ToolResult): boolean {
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
function faultResult({ code, message, facts }: UpstreamFault, sent: boolean): ToolResult {
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

export interface UpstreamProgress {
  progress: number
  total?: number
  message?: string
}

export interface UpstreamCall extends UpstreamRequest {
  /** The tool's name at the upstream. */
  tool: string
  arguments: JsonObject
  /** The tool call's id: sent as `_meta["gatehouse/call_id"]`, and as `Idempotency-Key` over Streamable HTTP. */
  callId: string
  /** Each progress notification restarts the timeout, up to ten times the timeout in total. @default false */
  progressExtends?: boolean
  onProgress?(progress: UpstreamProgress): void
  /** Called just before the call is sent; nothing is sent when it returns false. */
  mayStart?: ((delayMs?: number) => boolean) | undefined
}

/**
 * `sent` is false only when the upstream certainly did not act on the call. `lost` is true when the call was sent and
 * the result does not come from the upstream: its outcome is unknown. `late` is there when the answer may still come, at
 * most until the call's timeout; it never rejects.
 */
export type UpstreamAnswer =
  | (UpstreamOutcome & { late?: Promise<UpstreamOutcome> })
  | { inputRequired: InputRequired }

interface UpstreamOutcome {
  result: ToolResult
  sent: boolean
  lost: boolean
  /** The person who must log in at the server before the call can run. */
  loginOf?: string
}

/** Progress reports: as many at once, and one more for each interval, in milliseconds. */
const mostProgress = 20
const progressEveryMs = 20

/**
 * Throws only errors of the database, before anything is sent. Sends a call again only when the transport proves that the
 * upstream did not act on it. Without `relay` an upstream that requests input gets the error `input_required`.
 */
export async function callUpstream(services: Services, call: UpstreamCall): Promise<UpstreamAnswer> {
  const delivery: Delivery<Sent> = { mayHaveRun: false, mayStart: call.mayStart, late: null }
  const failed = (error: unknown): UpstreamOutcome => {
    const fault = faultOf(error)
    if (!(error instanceof UpstreamFault))
      services.log.debug({ err: error, id: call.id }, 'an upstream call failed')
    const sent = delivery.mayHaveRun || isOwnError(fault)
    const { person } = fault.facts
    return {
      result: faultResult(fault, sent),
      sent,
      lost: sent && !isFinalAnswer(fault),
      ...(person === undefined || sent ? {} : { loginOf: person }),
    }
  }
  try {
    const sent = await askUpstream(services, call, delivery, async (link, options): Promise<Sent> => {
      const tool = await findTool(services, options.row, call.tool)
      const result = await send(link, call, tool, options)
      if (isInputRequired(result)) return { input: result }
      return { answer: link.answerFor(result), tool }
    })
    if ('input' in sent && call.relay) return { inputRequired: inputRequired(sent.input) }
    return outcomeOf(services, call, sent)
  } catch (error) {
    const outcome = failed(error)
    if (!outcome.sent && isStorageError(error)) throw error
    const late = delivery.late?.then((sent) => outcomeOf(services, call, sent)).catch(failed)
    return { ...outcome, ...(late ? { late } : {}) }
  }
}

/** What the upstream said to the call. */
type Sent = { input: WireInputRequired } | { answer: Answer; tool: UpstreamTool | null }

/** The outcome for a caller that cannot supply input. */
function outcomeOf({ limits }: Services, { projectId }: UpstreamCall, sent: Sent): UpstreamOutcome {
  if ('input' in sent) return { result: faultResult(notAsked, true), sent: true, lost: false }
  const { answer, tool } = sent
  const result = resultOf(answer, tool?.outputSchema ?? null, projectId, limits.maxResponseBytes)
  return { result, sent: true, lost: isUnknown(result) }
}

const notAsked = new UpstreamFault(
  'input_required',
  'The server requests input from its caller, and this caller cannot supply any.',
)

/** Null for a tool that no list has: the upstream itself refuses it. */
async function findTool(services: Services, row: UpstreamRow, name: string): Promise<UpstreamTool | null> {
  const catalog = (await loadCatalogs(services.db, [row])).get(row.id)!
  return catalog.tools.find((tool) => tool.name === name) ?? null
}

async function send(
  link: Link,
  call: UpstreamCall,
  tool: UpstreamTool | null,
  { timeoutMs, signal }: SendOptions,
): Promise<CallToolResult> {
  const { callId, relay, progressExtends = false } = call
  const params = {
    name: call.tool,
    arguments: call.arguments,
    _meta: { ...call.trace, 'gatehouse/call_id': callId, ...relayedMeta(link, relay) },
    ...relayedInput(link, relay),
  }
  return link.client.callTool(packValue(params) as Parameters<typeof link.client.callTool>[0], {
    timeout: timeoutMs,
    maxTotalTimeout: progressExtends ? timeoutMs * 10 : timeoutMs,
    resetTimeoutOnProgress: progressExtends,
    signal,
    allowInputRequired: true,
    headers: { 'Idempotency-Key': callId },
    // The SDK finds the arguments that are sent as headers by the schema. Without an outputSchema it checks no result.
    ...(tool
      ? { toolDefinition: { name: tool.name, inputSchema: packValue(tool.inputSchema) } as WireTool }
      : {}),
    ...(call.onProgress ? { onprogress: paced(call.onProgress.bind(call)) } : {}),
  })
}

/** Lets a burst through, for reports that were late together; of a stream that is faster some are left out, never the last. */
function paced(report: (progress: UpstreamProgress) => void): (progress: Progress) => void {
  let allowed = mostProgress
  let ended = false
  let last = performance.now()
  return ({ progress, total, message }) => {
    const now = performance.now()
    allowed = Math.min(mostProgress, allowed + (now - last) / progressEveryMs)
    last = now
    const isLast = !ended && total !== undefined && progress >= total
    if (allowed < 1 && !isLast) return
    ended ||= isLast
    allowed--
    report({
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message: shortText(message, 1000) }),
    })
  }
}

interface WireInputRequired {
  resultType: 'input_required'
  inputRequests?: JsonObject
  requestState?: string
}

/** With `allowInputRequired` the SDK returns either a result or this. */
export function isInputRequired(answer: unknown): answer is WireInputRequired {
  return (answer as { resultType?: unknown }).resultType === 'input_required'
}

/** What the upstream requests, unchanged. */
export function inputRequired(answer: WireInputRequired): InputRequired {
  return { inputRequests: answer.inputRequests ?? {}, requestState: answer.requestState ?? null }
}
