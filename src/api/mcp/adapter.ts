/** Between Node's HTTP and the web's: requests without a body, for it has been read, and answers that stream. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** The request as the SDK wants it. `accept` replaces the header of that name. */
export function webRequest(
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

/** Fires when the client has gone before the answer was complete. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  const closed = () => {
    if (!response.writableFinished) gone.abort()
  }
  if (response.destroyed) closed()
  else response.once('close', closed)
  return gone.signal
}

/** What a request is answered with. */
export interface Answer {
  response: Response
  /** Stands in the place of the response's own body, which has been read. */
  text?: string
  /** Beside the response's own. */
  headers?: Record<string, string>
}

/** Writes an answer: in one piece, or as a stream with its headers at once, for it may be silent for long. */
export async function writeAnswer(to: ServerResponse, { response, text, headers }: Answer): Promise<void> {
  const own = { ...Object.fromEntries(response.headers), ...headers }
  if (response.body === null) return void to.writeHead(response.status, own).end()
  if (own['content-type']?.startsWith('text/event-stream')) {
    to.writeHead(response.status, { ...own, 'x-accel-buffering': 'no' }).flushHeaders()
    return pour(response.body, to)
  }
  const whole = text === undefined ? Buffer.from(await response.arrayBuffer()) : Buffer.from(text)
  to.writeHead(response.status, { ...own, 'content-length': whole.length }).end(whole)
}

async function pour(body: ReadableStream<Uint8Array>, response: ServerResponse): Promise<void> {
  const reader = body.getReader()
  const leave = () => void reader.cancel().catch(() => {})
  response.once('close', leave)
  // It may have closed before there was an answer, and does so only once.
  if (response.destroyed) leave()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (!response.write(value)) await drained(response)
  }
  response.end()
}

/** A client that has read nothing for so long is sent away, in milliseconds: what waits for it would only grow. */
const unreadMs = 60_000

function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer)
      response.off('drain', go).off('close', go)
      resolve()
    }
    const timer = setTimeout(() => response.destroy(), unreadMs)
    response.once('drain', go).once('close', go)
  })
}
