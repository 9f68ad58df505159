/** Subscriptions over server-sent events: for Node without a WebSocket, and networks that let none through. */
import { readForeignJson, writeJson } from '../src/core/exact-json.ts'
import type { ServerError } from './errors.ts'
import { limited } from './pause.ts'
import type { Server } from './server.ts'
import { keyRefused, type Listener, type Operation, type StreamResult, type Transport } from './transport.ts'

/** The server writes at least every 12 seconds. A stream that is silent for longer than this is lost. Milliseconds. */
const silenceMs = 30_000

/** What it needs to know of the server. */
type Endpoint = Pick<Server, 'url' | 'fetch' | 'authorization' | 'credentials'>

export function eventStreamTransport(server: Endpoint): Transport {
  const open = new Set<AbortController>()
  return {
    open(operation, listener) {
      const own = new AbortController()
      open.add(own)
      const whileOpen =
        <Words extends unknown[]>(tell: (...words: Words) => void) =>
        (...words: Words) => {
          if (!own.signal.aborted) tell(...words)
        }
      const guarded: Listener = {
        next: whileOpen(listener.next),
        lost: whileOpen(listener.lost),
        refused: whileOpen(listener.refused),
        completed: whileOpen(listener.completed),
      }
      void read(server, operation, guarded, own.signal)
        .catch((error: unknown) => guarded.lost(error))
        .finally(() => open.delete(own))
      return () => own.abort()
    },
    close: () => open.forEach((one) => one.abort()),
  }
}

async function read(
  server: Endpoint,
  operation: Operation,
  listener: Listener,
  signal: AbortSignal,
): Promise<void> {
  const authorization = await server.authorization()
  const limit = limited(silenceMs, signal)
  try {
    const response = await server.fetch(server.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        ...(authorization ? { authorization } : {}),
      },
      body: writeJson(operation),
      credentials: server.credentials,
      signal: limit.signal,
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    if (!isStream || !response.body) return refuse(response, await response.text(), listener)
    await readStream(response.body, listener, limit.renew, signal)
  } finally {
    limit.done()
  }
}

async function readStream(
  body: ReadableStream<Uint8Array>,
  listener: Listener,
  renew: () => void,
  signal: AbortSignal,
): Promise<void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return listener.lost(new Error('the stream ended before its last event'))
    renew()
    const blocks = `${rest}${decoder.decode(value, { stream: true })}`.replaceAll('\r\n', '\n').split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      if (signal.aborted) return
      const lines = block.split('\n')
      if (lines.includes('event: complete')) return listener.completed()
      const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim())
      if (data.length > 0) listener.next(readForeignJson(data.join('\n')) as StreamResult)
    }
  }
}

/** A response that is no stream: the errors of the subscription, or of whoever answered in place of the server. */
function refuse({ status }: Response, text: string, listener: Listener): void {
  const errors = errorsIn(text)
  if (errors) listener.refused(errors)
  else if (status === 401) listener.refused(keyRefused)
  else if (status >= 400 && status < 500)
    listener.refused([
      { message: `The server answered with status ${status}.`, extensions: { code: 'REFUSED' } },
    ])
  else listener.lost(new Error(`the server answered with status ${status}`))
}

function errorsIn(text: string): readonly ServerError[] | null {
  try {
    const { errors } = readForeignJson(text) as StreamResult
    return errors?.[0] ? errors : null
  } catch {
    return null
  }
}
