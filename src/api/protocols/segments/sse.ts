/** Server-sent events to one client: waits while it does not read, and keeps the connection alive. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { writeJson } from '../../../core/json.ts'

/** How often a comment is sent while nothing else is, in milliseconds: proxies close silent connections. */
const heartbeatMs = 15_000

export interface EventWriter {
  /** Sends one event. Resolves when the client can take more; false when it has gone. */
  send(data: object, type?: string, id?: string): Promise<boolean>
  /** Sends a line that is no JSON, as the last event of some protocols. */
  sendText(text: string, type?: string, id?: string): Promise<boolean>
  end(): void
}

/** Opens the stream. `gone` is called once when the client closes the connection before the end. */
export function openEventStream(
  response: ServerResponse,
  gone: () => void,
  headers: Record<string, string> = {},
): EventWriter {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    ...headers,
  })
  response.flushHeaders()
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(': alive\n\n')
  }, heartbeatMs)
  heartbeat.unref()
  const end = () => {
    clearInterval(heartbeat)
    if (!response.writableFinished) gone()
  }
  // `close` comes once, and may have come before the stream was opened.
  if (response.destroyed) end()
  else response.once('close', end)
  const write = async (text: string) => {
    if (response.destroyed) return false
    if (response.write(text)) return true
    const ended = new AbortController()
    const closed = () => ended.abort()
    response.once('close', closed)
    await once(response, 'drain', { signal: ended.signal }).catch(() => undefined)
    response.off('close', closed)
    return !response.destroyed
  }
  const sendText: EventWriter['sendText'] = (text, type, id) =>
    write(`${id ? `id: ${id}\n` : ''}${type ? `event: ${type}\n` : ''}data: ${text}\n\n`)
  return {
    send: (data, type, id) => sendText(writeJson(data), type, id),
    sendText,
    end() {
      // Its client may read the rest much later, and what is written after the end is an error that nobody catches.
      clearInterval(heartbeat)
      response.end()
    },
  }
}
