/** Runs an http tool: one guarded request, and whatever happens comes back as a result that a model can read. */
import { errorResult, type ToolResult } from '../../../core/content.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Egress, EgressError } from '../../egress/index.ts'
import { isHeaderValue } from './http-check.ts'
import { buildHttpRequest, isUnusable, type UnusableArguments } from './http-request.ts'
import { isFinalAnswer, readHttpAnswer } from './http-response.ts'
import type { HttpToolConfig } from './http-template.ts'

export { checkHttpConfig } from './http-check.ts'
export { originOf, type HttpToolConfig } from './http-template.ts'

export interface HttpToolRun {
  /** Secrets are filled in. */
  config: HttpToolConfig
  /** Validated, presets merged in. */
  args: JsonObject
  egress: Egress
  /** The tool call's id, sent as `Idempotency-Key` with every method. */
  idempotencyKey: string
  timeoutMs: number
  maxBytes: number
  signal: AbortSignal
  /** Asked when the request is about to leave; with false nothing does. */
  mayStart?: (() => boolean) | undefined
}

/**
 * Never throws. `sent` is false only when surely no byte of the request has left, so the call surely did not happen;
 * `lost` when it was sent and no whole answer of the service came (a head alone is none); `status` is the answer's.
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
    return unsent('invalid_configuration', `The header ${illegal} holds a character that no header may hold.`)
  const built = tryBuild(run)
  if (!built) return unsent('invalid_configuration', 'The URL of this tool is not a valid http or https URL.')
  if (isUnusable(built)) return unsent('invalid_arguments', wordsFor(built))
  const outcome = await run.egress.request({
    ...built,
    headers: { ...built.headers, 'idempotency-key': run.idempotencyKey },
    timeoutMs: run.timeoutMs,
    maxBytes: run.maxBytes,
    signal: run.signal,
    mayStart: run.mayStart,
    // Any of them may hold a secret, whatever its name.
    sensitiveHeaders: own,
  })
  if (!outcome.ok) {
    const { sent } = outcome.error
    return { result: failure(outcome.error, run.timeoutMs), sent, lost: sent }
  }
  const uri = `gatehouse://tool-calls/${encodeURIComponent(run.idempotencyKey)}/content`
  return {
    result: readHttpAnswer(outcome, { maxBytes: run.maxBytes, uri }),
    sent: true,
    lost: !isFinalAnswer(outcome),
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

function wordsFor({ missing, refused }: UnusableArguments): string {
  const list = (names: string[]) => names.map((name) => JSON.stringify(name)).join(', ')
  return missing.length > 0
    ? `These arguments are part of the URL and must have a value: ${list(missing)}.`
    : `These arguments are part of the URL and must not be empty, ".", ".." or broken text: ${list(refused)}.`
}

/** Words for the model: neither the host nor what it resolved to, nor anything of our own inside. */
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
