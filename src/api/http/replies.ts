/**
 * What HTTP requests are answered with: JSON, compressed where it pays, the status of an error, and when to come
 * again.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { writeJson } from '../../core/json.ts'
import type { AppError, ErrorCode } from '../../core/errors.ts'

const pack = promisify(gzip)

/** Shorter bodies fit into a packet or two as they are. */
const leastBytes = 2048

/** The codings that an Accept-Encoding header accepts, without those of weight 0. */
export function acceptedCodings(header: string | string[] | undefined): Set<string> {
  const parts = String(header ?? '').split(',')
  const accepted = parts.filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part))
  return new Set(accepted.map((part) => part.split(';', 1)[0]!.trim().toLowerCase()))
}

/**
 * The body as gzip, for a client that accepts it, with the headers that say so; a short one as it is. The event loop does
 * not wait for it. Never for a body that is sent piece by piece. See docs/decisions/0059-answers-as-gzip.md.
 */
export async function packBody(
  bytes: Buffer,
  acceptEncoding: string | undefined,
): Promise<{ bytes: Buffer; headers: Record<string, string> }> {
  // The headers of CORS depend on the origin (cors.ts).
  const headers = { vary: 'accept-encoding, Origin' }
  if (bytes.length < leastBytes || !acceptedCodings(acceptEncoding).has('gzip')) return { bytes, headers }
  const small = await pack(bytes)
  return { bytes: small, headers: { ...headers, 'content-encoding': 'gzip' } }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  sendBytes(response, status, Buffer.from(writeJson(body)), headers)
}

/** Sends JSON as `sendJson` does, compressed where the client accepts it. */
export async function sendPackedJson(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  status: number,
  body: unknown,
  headers: Record<string, string>,
): Promise<void> {
  const whole = Buffer.from(writeJson(body))
  const { bytes, headers: coding } = await packBody(whole, acceptEncodingOf(request))
  sendBytes(response, status, bytes, { ...headers, ...coding })
}

const acceptEncodingOf = ({ headers }: IncomingMessage): string | undefined =>
  headers['accept-encoding'] as string | undefined

function sendBytes(
  response: ServerResponse,
  status: number,
  bytes: Buffer,
  headers: Record<string, string>,
): void {
  const own = { 'content-type': 'application/json', 'content-length': String(bytes.length) }
  response.writeHead(status, { ...own, ...headers }).end(bytes)
}

const statuses: Record<Exclude<ErrorCode, 'LIMITED'>, number> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  INVALID: 400,
  BAD_CURSOR: 400,
  CONFLICT: 409,
  NAME_TAKEN: 409,
  IDEMPOTENCY_CONFLICT: 409,
  GENERATION_TERMINAL: 409,
  APPROVAL_ALREADY_DECIDED: 409,
  APPROVAL_EXPIRED: 409,
  CURSOR_EXPIRED: 410,
  EXPIRED: 410,
  RESPONSE_TOO_LARGE: 413,
  UPSTREAM: 502,
  UNAVAILABLE: 503,
  INTERNAL: 500,
}

/** The HTTP status of an error. LIMITED is 429 when waiting helps, else 413. */
export function statusOf({ code, details }: AppError): number {
  if (code === 'LIMITED') return details.retryAfterMs ? 429 : 413
  return statuses[code]
}

/** The headers of a refusal: how to authenticate, and when to try again. */
export function refusalHeaders({ code, details }: AppError): Record<string, string> {
  return {
    ...(code === 'UNAUTHENTICATED' ? { 'www-authenticate': 'Bearer' } : {}),
    ...retryAfter(details.retryAfterMs),
  }
}

/** The Retry-After header; none without a time to wait. */
export function retryAfter(milliseconds: number | undefined): Record<string, string> {
  return milliseconds ? { 'retry-after': String(Math.ceil(milliseconds / 1000)) } : {}
}

/** Aborts when the client disconnects before the response is complete; at once when it already has. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const disconnected = new AbortController()
  const closed = () => {
    if (!response.writableFinished) disconnected.abort()
  }
  if (response.destroyed) closed()
  else response.once('close', closed)
  return disconnected.signal
}
