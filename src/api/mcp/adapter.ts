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
  response.once('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  return gone.signal
}

/** Writes an answer, with its headers at once: a stream may be silent for long. */
export async function writeResponse(
  response: ServerResponse,
  answer: Response,
  more: Record<string, string> = {},
): Promise<void> {
  const stream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  response.writeHead(answer.status, {
    ...Object.fromEntries(answer.headers),
    ...more,
    ...(stream ? { 'x-accel-buffering': 'no' } : {}),
  })
  if (answer.body === null) return void response.end()
  response.flushHeaders()
  const reader = answer.body.getReader()
  response.once('close', () => void reader.cancel().catch(() => {}))
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
