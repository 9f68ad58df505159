/** What HTTP requests are answered with: JSON, the status of an error, and when to come again. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { writeJson } from '../../core/json.ts'
import type { AppError, ErrorCode } from '../../core/errors.ts'
import { packed } from './packed.ts'

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
  const { bytes, headers: coding } = await packed(whole, acceptEncodingOf(request))
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
