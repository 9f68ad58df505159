/**
 * Runs an http tool: one request over the guarded fetch, and its response by the content type. Every outcome is a
 * result that a model can read.
 */
import { isUtf8 } from 'node:buffer'
import { errorResult, textResult, type ToolResult } from '../../../core/content.ts'
import { cutText, tryParseForeignJson, type JsonObject, writeJson } from '../../../core/json.ts'
import { canonicalText } from '../../../core/text.ts'
import { ranResult } from '../../../core/output.ts'
import type { TraceContext } from '../../../core/telemetry/unit.ts'
import type { Egress, EgressError } from '../../egress/index.ts'
import { isHeaderValue } from './http-check.ts'
import { buildHttpRequest, isUnusable, type UnusableArguments } from './http-request.ts'
import type { HttpToolConfig } from './http-config.ts'
export { checkHttpConfig, placeholderFaults } from './http-check.ts'
export { originOf, type HttpToolConfig } from './http-config.ts'

/** Turns an HTTP response into a tool result, by its content type. Pure. */
export interface HttpToolResponse {
  status: number
  headers: Headers
  bytes: Buffer
  /** Whether bytes beyond the limit were left unread. */
  truncated: boolean
  /** Whether the body is not in the encoding that it names; `bytes` is what could be decoded. */
  garbled: boolean
}

/** Statuses with which a proxy reports that it lost the service's response, or never got one. */
const gatewayStatuses = new Set([408, 502, 504, 520, 521, 522, 523, 524, 598, 599])
/** Redirects of which some services have acted on the request. */
const vagueStatuses = new Set([301, 302, 303])

/**
 * Whether the response says what became of the request. That of a gateway does not: 408, 502, 504 and the variants of
 * 504; nor does a redirect that was not followed, or a failure to show (GET) what a request of another `method` has done. A 503
 * does when it has a body or `Retry-After`.
 */
function isFinalResponse(response: HttpToolResponse & { method: string }, method: string): boolean {
  const { status } = response
  if (response.method !== method) return status >= 200 && status < 300
  if (status === 503) return response.bytes.length > 0 || response.headers.has('retry-after')
  return !gatewayStatuses.has(status) && !vagueStatuses.has(status)
}

/** The most bytes of an error response's body that are shown. */
const errorBodyBytes = 4096

/** `uri` names a binary response that becomes a resource; it is never fetched. */
function readHttpResponse(response: HttpToolResponse, limits: { maxBytes: number; uri: string }): ToolResult {
  const { status, bytes, truncated } = response
  const type = mediaType(response.headers.get('content-type'))
  if (status < 200 || status > 299) return failed(response, type)
  if (truncated || response.garbled) {
    const text = isTextual(type, bytes) ? decode(bytes, type.charset) : ''
    return truncated
      ? ranResult('response_too_large', `is larger than the limit of ${limits.maxBytes} bytes`, text, {
          status,
        })
      : ranResult('response_unreadable', 'is not in the encoding that it names', text, { status })
  }
  if (bytes.length === 0) return textResult(`The service answered with status ${status} and no content.`)
  const { essence } = type
  if (isTextual(type, bytes)) return textual(type, bytes)
  const data = bytes.toString('base64')
  if (essence.startsWith('image/'))
    return { content: [{ type: 'image', data, mimeType: essence }], isError: false }
  if (essence.startsWith('audio/'))
    return { content: [{ type: 'audio', data, mimeType: essence }], isError: false }
  const mimeType = essence || 'application/octet-stream'
  return {
    content: [{ type: 'resource', resource: { uri: limits.uri, mimeType, blob: data } }],
    isError: false,
  }
}

function failed({ status, bytes }: HttpToolResponse, type: MediaType): ToolResult {
  const more: JsonObject = { status }
  if (bytes.length > 0 && isTextual(type, bytes))
    more['body'] = cutText(decode(bytes, type.charset), errorBodyBytes)
  return errorResult(`http_${status}`, `The service answered with status ${status}.`, more)
}

function textual({ essence, charset }: MediaType, bytes: Buffer): ToolResult {
  const text = canonicalText(decode(bytes, charset))
  const value = isJson(essence) ? tryParseForeignJson(text) : undefined
  return value === undefined
    ? textResult(text)
    : { content: [{ type: 'text', text }], structuredContent: value, isError: false }
}

interface MediaType {
  /** `type/subtype` in lower case; empty when the response has no content type. */
  essence: string
  charset: string
}

function mediaType(header: string | null): MediaType {
  const [essence = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim())
  const charset = parameters.map((parameter) => /^charset="?([^"]+)"?$/i.exec(parameter)?.[1]).find(Boolean)
  return { essence: essence.toLowerCase(), charset: charset ?? 'utf-8' }
}

function isJson(essence: string): boolean {
  return /^[^/]+\/(?:.+\+)?json$/.test(essence)
}

const textualTypes =
  /^text\/|^[^/]+\/(?:.+\+)?(?:json|xml|yaml)$|^application\/(?:x-)?(?:javascript|ecmascript|ndjson|jsonl|json-seq|yaml|toml|sql|graphql|www-form-urlencoded|sh|csv|rtf)$/

/** Without a content type, valid UTF-8 without NUL counts as text. */
function isTextual({ essence }: MediaType, bytes: Buffer): boolean {
  return essence === '' ? isUtf8(bytes) && !bytes.includes(0) : textualTypes.test(essence)
}

/** An unknown charset is decoded as UTF-8; invalid bytes become U+FFFD. Drops a byte order mark. */
function decode(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

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
