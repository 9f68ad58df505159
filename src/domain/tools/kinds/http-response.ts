/** Turns an HTTP response into a tool result, by its content type. Pure. */
import { isUtf8 } from 'node:buffer'
import { errorResult, textResult, type ToolResult } from '../../../core/content.ts'
import { cutText, tryParseForeignJson, type JsonObject } from '../../../core/json.ts'
import { canonicalText } from '../../../core/text.ts'
import { ranResult } from '../../../core/output.ts'

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
export function isFinalResponse(response: HttpToolResponse & { method: string }, method: string): boolean {
  const { status } = response
  if (response.method !== method) return status >= 200 && status < 300
  if (status === 503) return response.bytes.length > 0 || response.headers.has('retry-after')
  return !gatewayStatuses.has(status) && !vagueStatuses.has(status)
}

/** The most bytes of an error response's body that are shown. */
const errorBodyBytes = 4096

/** `uri` names a binary response that becomes a resource; it is never fetched. */
export function readHttpResponse(
  response: HttpToolResponse,
  limits: { maxBytes: number; uri: string },
): ToolResult {
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
