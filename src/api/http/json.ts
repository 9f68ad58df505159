/** Small bodies: read within a limit, and JSON sent with a status. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError, type ErrorCode } from '../../core/errors.ts'

const maxJsonBytes = 16 * 1024

/** The body byte for byte; null when it has more than `maxBytes`. */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The body as text. Throws LIMITED beyond 16 KiB. */
export async function readText(request: IncomingMessage): Promise<string> {
  const bytes = await readBytes(request, maxJsonBytes)
  if (!bytes) throw new AppError('LIMITED', `The body may have at most ${maxJsonBytes} bytes.`)
  return bytes.toString()
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

const statuses: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  EXPIRED: 410,
  INVALID: 422,
  UPSTREAM: 502,
  UNAVAILABLE: 503,
}

/** The HTTP status of an error. */
export function statusOf({ code, details }: AppError): number {
  if (code === 'LIMITED') return details.retryAfterMs ? 429 : 413
  return statuses[code] ?? 400
}
