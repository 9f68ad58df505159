/** Runs an http tool: one request over the guarded fetch. Every outcome is a result that a model can read. */
import { errorResult, type ToolResult } from '../../../core/content.ts'
import { type JsonObject, writeJson } from '../../../core/json.ts'
import type { TraceContext } from '../../../core/telemetry/trace-context.ts'
import type { Egress, EgressError } from '../../egress/index.ts'
import { isHeaderValue } from './http-check.ts'
import { buildHttpRequest, isUnusable, type UnusableArguments } from './http-request.ts'
import { isFinalResponse, readHttpResponse } from './http-response.ts'
import type { HttpToolConfig } from './http-template.ts'

export { checkHttpConfig, placeholderFaults } from './http-check.ts'
export { originOf, type HttpToolConfig } from './http-template.ts'

export interface HttpToolRun {
  /** With its secrets filled in. */
  config: HttpToolConfig
  /** Validated, with the presets merged in. */
  args: JsonObject
  egress: Egress
  projectId: string
  /** The tool call's id, sent as `Idempotency-Key` with every method. */
  idempotencyKey: string
  /** Sent as `traceparent` and `tracestate`, unless the tool has headers of these names. */
  trace?: TraceContext | undefined
  timeoutMs: number
  maxBytes: number
  signal: AbortSignal
  /** Whether the call may be sent twice under its key. */
  isIdempotent: boolean
  /** Called just before the request is sent; nothing is sent when it returns false. */
  mayStart?: (() => boolean) | undefined
}

/**
 * Never throws. `sent` is false only when no byte of the request was sent, so that the call cannot have taken effect.
 * `lost` is true when it was sent and no complete response of the service arrived (a response head alone does not
 * count). `status` is that of the response.
 */
export async function runHttpTool(
  run: HttpToolRun,
): Promise<{ result: ToolResult; sent: boolean; lost: boolean; status?: number }> {
  const unsent = (code: string, message: string) => ({
    result: errorResult(code, message),
    sent: false,
    lost: false,
  })
  const own = Object.keys(run.config.headers)
  const illegal = own.find((name) => !isHeaderValue(run.config.headers[name]!))
  if (illegal !== undefined)
    return unsent(
      'invalid_configuration',
      `The header ${illegal} contains a character that no header may contain.`,
    )
  const built = tryBuild(run)
  if (!built) return unsent('invalid_configuration', 'The URL of this tool is not a valid http or https URL.')
  if (isUnusable(built)) return unsent('invalid_arguments', messageFor(built))
  const outcome = await run.egress.request({
    ...built,
    headers: { ...run.trace, ...built.headers, 'idempotency-key': run.idempotencyKey },
    timeoutMs: run.timeoutMs,
    maxBytes: run.maxBytes,
    signal: run.signal,
    mayStart: run.mayStart,
    isRepeatable: run.isIdempotent,
    keptFor: run.projectId,
    // Any of them may contain a secret, whatever its name.
    sensitiveHeaders: own,
  })
  if (!outcome.ok) {
    const { sent } = outcome.error
    return { result: failure(outcome.error, run.timeoutMs), sent, lost: sent }
  }
  const uri = `gatehouse://tool-calls/${encodeURIComponent(run.idempotencyKey)}/content`
  return {
    result: readHttpResponse(outcome, { maxBytes: run.maxBytes, uri }),
    sent: true,
    lost: !isFinalResponse(outcome, built.method),
    status: outcome.status,
  }
}

function tryBuild({ config, args }: HttpToolRun): ReturnType<typeof buildHttpRequest> | null {
  try {
    return buildHttpRequest(config, args)
  } catch {
    return null
  }
}

function messageFor({ missing, refused }: UnusableArguments): string {
  const list = (names: string[]) => names.map((name) => writeJson(name)).join(', ')
  return missing.length > 0
    ? `These arguments are part of the URL and must have a value: ${list(missing)}.`
    : `These arguments are part of the URL and must not be empty, ".", ".." or invalid Unicode: ${list(refused)}.`
}

/** The error for the model. It reveals neither the host, nor its IP address, nor internals. */
function failure({ code, message }: EgressError, timeoutMs: number): ToolResult {
  switch (code) {
    case 'TIMEOUT':
      return errorResult('timeout', `The service did not answer within ${timeoutMs} ms.`)
    case 'ABORTED':
      return errorResult('cancelled', 'The call was cancelled.')
    case 'CONNECT':
    case 'BLOCKED_NAME':
      return errorResult('unreachable', 'The service could not be reached.')
    case 'TOO_LARGE':
      return errorResult('response_too_large', message)
    case 'WITHHELD':
    case 'BLOCKED_ADDRESS':
    case 'BAD_URL':
    case 'TOO_MANY_REDIRECTS':
    case 'NETWORK':
      return errorResult(code.toLowerCase(), message)
  }
}
