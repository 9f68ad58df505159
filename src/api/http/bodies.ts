/** Request bodies: read within a limit for each and a memory budget for all, or refused without being buffered. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { writeJson } from '../../core/json.ts'
import { AppError } from '../../core/errors.ts'

/** The largest body of a request with a valid key, in bytes. */
export const maxBodyBytes = 1024 * 1024
/** The largest body of a request without a valid key, in bytes. */
export const maxAnonymousBodyBytes = 16 * 1024
/** How long a client may go on sending a refused body, in milliseconds. */
const lingerMs = 1000

/** Limits the bytes of request bodies that the process buffers at once. */
export interface BodyBudget {
  /** Reserves bytes for this sender, or returns false. One sender gets at most a quarter of the budget. */
  take(sender: string, bytes: number): boolean
  giveBack(sender: string, bytes: number): void
  used(): number
}

export function createBodyBudget(maxBytes: number): BodyBudget {
  const perSender = new Map<string, number>()
  let used = 0
  return {
    take(sender, bytes) {
      const own = (perSender.get(sender) ?? 0) + bytes
      if (used + bytes > maxBytes || own > maxBytes / 4) return false
      used += bytes
      perSender.set(sender, own)
      return true
    },
    giveBack(sender, bytes) {
      used -= bytes
      const left = (perSender.get(sender) ?? 0) - bytes
      if (left > 0) perSender.set(sender, left)
      else perSender.delete(sender)
    },
    used: () => used,
  }
}

export type Body = { bytes: Buffer } | { tooLong: number } | { budgetExceeded: true }

/**
 * Reads the whole body, which counts in the budget until the response has closed; or says why it was refused. Its bytes
 * are counted while reading, because a body may come without a Content-Length.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
  budget: BodyBudget | null = null,
  sender = '',
): Promise<Body> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve({ tooLong: maxBytes })
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let kept = 0
    const release = () => {
      if (kept > 0) budget?.giveBack(sender, kept)
      kept = 0
    }
    const drop = (why: Body) => {
      chunks.length = 0
      release()
      request.off('data', take)
      resolve(why)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) return drop({ tooLong: maxBytes })
      if (budget?.take(sender, chunk.length) === false) return drop({ budgetExceeded: true })
      kept += chunk.length
      chunks.push(chunk)
    }
    request.on('data', take)
    request.once('end', () => resolve({ bytes: Buffer.concat(chunks) }))
    request.once('error', reject)
    // A client that closed the connection uses no budget.
    response.once('close', release)
    if (response.destroyed) release()
  })
}

const maxTextBytes = 16 * 1024

/** A small body as text. Throws LIMITED beyond 16 KiB. */
export async function readText(request: IncomingMessage, response: ServerResponse): Promise<string> {
  const body = await readBody(request, response, maxTextBytes)
  if ('bytes' in body) return body.bytes.toString()
  throw new AppError('LIMITED', `The body may have at most ${maxTextBytes} bytes.`)
}

/** Sends 413 or 503. `errorOf` makes the body of the response; without it, it is that of a GraphQL error. */
export function refuseBody(
  request: IncomingMessage,
  response: ServerResponse,
  body: Body,
  errorOf: (status: 413 | 503, message: string) => object = (_status, message) => ({ errors: [{ message }] }),
): void {
  const message =
    'tooLong' in body
      ? `The body is larger than ${body.tooLong} bytes${body.tooLong === maxAnonymousBodyBytes ? ', which is the limit without a valid key' : ''}.`
      : 'The server is reading too many request bodies at the moment. Try again.'
  const status = 'tooLong' in body ? 413 : 503
  const headers: Record<string, string> = 'tooLong' in body ? {} : { 'retry-after': '1' }
  refuseUnread(request, response, status, errorOf(status, message), headers)
}

/**
 * Refuses a request whose body was not read. Responds at once, and closes the connection when the client has sent the
 * rest or after a second: closing it while the client still writes would reset the connection, and the client would not
 * get the response.
 */
export function refuseUnread(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: object | undefined,
  headers: Record<string, string>,
): void {
  const text = body ? writeJson(body) : ''
  response.writeHead(status, {
    ...(body ? { 'content-type': 'application/json' } : {}),
    'content-length': Buffer.byteLength(text),
    connection: 'close',
    ...headers,
  })
  response.flushHeaders()
  response.write(text)
  if (request.closed) return void response.end()
  const timer = setTimeout(() => request.destroy(), lingerMs)
  request.once('close', () => {
    clearTimeout(timer)
    response.end()
  })
  request.resume()
}
