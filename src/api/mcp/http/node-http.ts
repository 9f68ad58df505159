/** Converts between Node's HTTP objects and the web Request and Response of the MCP SDK. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { unpackText } from '../../../core/json.ts'

/** The request without its body, which has been read already. `accept` replaces the header of that name. */
export function toWebRequest(
  request: IncomingMessage,
  url: string,
  signal: AbortSignal,
  accept?: string,
): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  if (accept) headers.set('accept', accept)
  return new Request(url, { method: request.method!, headers, signal })
}

/** A complete response. */
export interface WholeReply {
  status: number
  headers: Record<string, string>
  body: string
}

/** A response of the SDK. */
interface SdkReply {
  response: Response
  /** Replaces the response's body, which has been consumed. */
  text?: string
  /** Added to the response's headers. */
  headers?: Record<string, string>
}

export type Reply = SdkReply | WholeReply

/** Writes a reply: JSON in one piece, a stream with its headers at once, for its first event may take long. */
export async function writeReply(to: ServerResponse, reply: Reply): Promise<void> {
  if ('body' in reply) {
    const bytes = Buffer.from(reply.body)
    return void to.writeHead(reply.status, { ...reply.headers, 'content-length': bytes.length }).end(bytes)
  }
  const { response, text, headers } = reply
  const allHeaders = { ...Object.fromEntries(response.headers), ...headers }
  if (response.body === null) return void to.writeHead(response.status, allHeaders).end()
  if (allHeaders['content-type']?.startsWith('text/event-stream')) {
    to.writeHead(response.status, { ...allHeaders, 'x-accel-buffering': 'no' }).flushHeaders()
    return pipe(response.body, to)
  }
  const body = Buffer.from(unpackText(text ?? (await response.text())))
  to.writeHead(response.status, { ...allHeaders, 'content-length': body.length }).end(body)
}

async function pipe(body: ReadableStream<Uint8Array>, response: ServerResponse): Promise<void> {
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  response.once('close', cancel)
  // `close` fires only once, and may have fired before there was a body.
  if (response.destroyed) cancel()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (!response.write(unpackedBytes(value))) await drained(response)
  }
  response.end()
}

/** The SDK hands over each event of a stream whole. */
function unpackedBytes(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const exact = unpackText(text)
  return exact === text ? bytes : Buffer.from(exact)
}

/** A client that reads nothing for so long is disconnected, in milliseconds; its buffer would only grow. */
const unreadMs = 60_000

function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      response.off('drain', done).off('close', done)
      resolve()
    }
    const timer = setTimeout(() => response.destroy(), unreadMs)
    response.once('drain', done).once('close', done)
  })
}
