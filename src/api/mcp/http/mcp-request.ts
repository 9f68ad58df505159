/** An HTTP request to an MCP endpoint: authenticated, its body parsed within limits, its headers like its arguments. */
import type { IncomingMessage, IncomingHttpHeaders } from 'node:http'
import type { Ctx } from '../../../domain/access/index.ts'
import {
  hasManyValues,
  isJsonObject,
  jsonTooBig,
  maxJsonValues,
  NumberRangeError,
  readJson,
  asText,
  type JsonObject,
} from '../../../core/json.ts'

/** The first protocol version in which each request describes itself, and the only one that is served so far. */
export const modernVersion = '2026-07-28'

export interface McpRequest {
  http: IncomingMessage
  /** The public URL of the endpoint. */
  url: string
  /** The parsed JSON of a POST; undefined for other methods. */
  body: unknown
  ctx: Ctx
  /** Aborts when the client disconnects before the response is complete. */
  disconnected: AbortSignal
  /** Aborts when the response is complete, or the client has disconnected. */
  ended: AbortSignal
}

/** Whether the response may be a stream of server-sent events. */
export function acceptsStream({ http }: Pick<McpRequest, 'http'>): boolean {
  return http.headers.accept?.includes('text/event-stream') ?? false
}

const limits = { maxBytes: 4 * 1024 * 1024, maxDepth: 100 }
const maxBatch = 50

/** The parsed body; `undefined` for a request without one. */
export type ParsedBody = { value: unknown } | { fault: 'too_many_values' | 'not_json' } | { number: string }

export function parseBody(bytes: Buffer | undefined): ParsedBody {
  if (bytes === undefined) return { value: undefined }
  // Counted before parsing: a value costs more memory than its text.
  if (hasManyValues(bytes)) return { fault: 'too_many_values' }
  try {
    return { value: readJson(bytes.toString('utf8')) }
  } catch (error) {
    return error instanceof NumberRangeError
      ? { number: `${error.path.join('.')}: ${error.message}` }
      : { fault: 'not_json' }
  }
}

export const tooManyValues = `The body has more than ${maxJsonValues} values.`

/** Why a parsed body is refused, as a sentence; null when it is not. */
export function bodyFault(body: unknown): string | null {
  const fault = jsonTooBig(body, limits) ?? batchFault(body)
  return fault ? `The body ${fault}.` : null
}

function batchFault(body: unknown): string | null {
  if (!Array.isArray(body)) return null
  return body.length === 0 || body.length > maxBatch ? `must hold 1 to ${maxBatch} messages` : null
}

/** How many messages the body counts as for rate limits. */
export function messageCount(body: unknown): number {
  return Array.isArray(body) ? body.length : 1
}

/** The JSON-RPC id of a single message; null for a batch or a message without one. */
export function messageIdOf(body: unknown): string | number | null {
  const id = isJsonObject(body) ? body['id'] : null
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

const prefix = 'mcp-param-'
const encoded = /^=\?base64\?(.*)\?=$/s
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Why a call must be refused with -32020, or null. Headers carry strings, numbers and booleans only. */
export function headerMismatch(
  headers: IncomingHttpHeaders,
  inputSchema: JsonObject,
  args: unknown,
): string | null {
  const properties = inputSchema['properties']
  if (!isJsonObject(properties)) return null
  for (const [name, schema] of Object.entries(properties)) {
    const marked = isJsonObject(schema) ? schema['x-mcp-header'] : undefined
    if (typeof marked !== 'string') continue
    const sent = headers[prefix + marked.toLowerCase()]?.toString().trim()
    const value = isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined
    const fault = faultOf(sent, value)
    if (fault) return `The header Mcp-Param-${marked.slice(0, 80)} ${fault}.`
  }
  return null
}

function faultOf(sent: string | undefined, value: unknown): string | null {
  const absent = value === undefined || value === null
  if (sent === undefined) return absent ? null : 'is missing'
  if (absent) return 'has no argument'
  const text = decoded(sent)
  if (text === null) return 'has invalid Base64'
  return text === asText(value) ? null : 'does not match its argument'
}

/** The header's text. A value that headers cannot hold is sent as `=?base64?…?=` of its UTF-8; null when that is invalid. */
function decoded(sent: string): string | null {
  const inner = encoded.exec(sent)?.[1]
  if (inner === undefined) return sent
  if (!base64.test(inner) || inner.length % 4 !== 0) return null
  return Buffer.from(inner, 'base64').toString('utf8')
}
