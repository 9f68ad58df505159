/** The requests of a connector to the server. What fails for a while is sent again: each is safe to repeat. */
import { setTimeout as pause } from 'node:timers/promises'
import { GatehouseError, writeJson } from '../client/index.ts'
import type { Answer } from './stdio-server.ts'
import { baseOf } from './usage.ts'

export interface Message {
  id: string
  /** JSON-RPC, as JSON text. */
  message: string
}

export interface ConnectorApi {
  /** Waits some seconds for messages. Throws GatehouseError when the server refuses this key, name or process. */
  next(signal: AbortSignal): Promise<Message[]>
  /** Null: the answer was too large. One that the server does not take, by its size or depth, becomes that. */
  answer(id: string, answer: Answer | null, signal: AbortSignal): Promise<void>
  /** Says that the lists of the server changed. */
  changed(signal: AbortSignal): Promise<void>
  leave(): Promise<void>
}

/**
 * Time for a request for messages, in milliseconds: more than the server waits for one, and so little that after two connections to
 * a replica that hangs there is time for a third, before this process counts as gone.
 */
const nextMs = 6000
/** Time for any other request, in milliseconds. */
const otherMs = 10_000
const leaveMs = 2000
/** Pauses between tries, in milliseconds. */
const firstPauseMs = 200
const longestPauseMs = 5000

type Post = (what: string, body: object, signal: AbortSignal) => Promise<Response>

/** `onRetry` is told why a request is sent again, when that goes on for a while. */
export function connectorApi(
  { url, key }: { url: string; key: string },
  name: string,
  instance: string,
  onRetry: (reason: string) => void,
): ConnectorApi {
  const base = `${baseOf(url)}/connectors/${encodeURIComponent(name)}`
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const post: Post = (what, body, signal) => {
    // Not AbortSignal.any: in Node 20 it forgets a time limit once garbage was collected.
    const limit = new AbortController()
    const stop = () => limit.abort(signal.reason)
    const end = () => {
      signal.removeEventListener('abort', stop)
      limit.abort(new Error('The server did not answer in time.'))
    }
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    setTimeout(end, what === 'next' ? nextMs : otherMs).unref()
    const text = writeJson({ instance, ...body })
    return fetch(`${base}/${what}`, {
      method: 'POST',
      headers,
      body: text,
      signal: limit.signal,
      redirect: 'error',
    })
  }
  const send = (what: string, body: object, signal: AbortSignal) =>
    sendUntil(post, onRetry, what, body, signal)
  return {
    async next(signal) {
      return ((await send('next', {}, signal)) as { messages: Message[] }).messages
    },
    async answer(id, answer, signal) {
      try {
        await send('answer', { id, answer }, signal)
      } catch (error) {
        const code = error instanceof GatehouseError ? error.code : null
        if (answer === null || (code !== 'LIMITED' && code !== 'INVALID')) throw error
        await send('answer', { id, answer: null }, signal)
      }
    },
    async changed(signal) {
      await send('changed', {}, signal)
    },
    async leave() {
      await post('leave', {}, AbortSignal.timeout(leaveMs))
    },
  }
}

/** Sends the request until the server has answered it. Returns the body of the answer. */
async function sendUntil(
  post: Post,
  onRetry: (reason: string) => void,
  what: string,
  body: object,
  signal: AbortSignal,
): Promise<unknown> {
  for (let tries = 0; ; tries++) {
    let reason: string
    try {
      const response = await post(what, body, signal)
      if (response.ok) return response.status === 204 ? null : await response.json()
      const error = await refusalOf(response)
      if (![408, 425, 429].includes(response.status) && response.status < 500) throw error
      reason = error.message
    } catch (error) {
      if (signal.aborted || error instanceof GatehouseError) throw error
      reason = 'The server cannot be reached.'
    }
    if (tries > 1) onRetry(reason)
    await pause(Math.min(firstPauseMs * 2 ** tries, longestPauseMs), undefined, { signal })
  }
}

async function refusalOf(response: Response): Promise<GatehouseError> {
  const body = (await response.json().catch(() => null)) as {
    error?: { code?: string; message?: string }
  } | null
  const { code = 'UNREACHABLE', message = `The server answered with HTTP ${response.status}.` } =
    body?.error ?? {}
  return new GatehouseError(code, message)
}
