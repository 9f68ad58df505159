/**
 * The limits of WebSockets, of one socket and of all together: operations, the size of messages, and bytes that
 * clients do not read.
 */
import type { WebSocket } from 'ws'
import { packText, unpackText, writeJson } from '../../../core/json.ts'
import { maxBodyBytes } from '../../http/bodies.ts'

export interface SocketLimits {
  /** Maximum bytes of one message until the socket has shown a key. */
  maxPayload: number
  /** And after that; one that is larger than a body over HTTP is answered with an error of its operation. */
  maxKnownPayload: number
  /** Milliseconds after which a socket is closed that has not shown a valid key in connection_init. */
  initTimeoutMs: number
  /** Milliseconds between pings. */
  keepAliveMs: number
  /** Maximum operations at the same time on one socket. */
  operations: number
  /** Maximum messages of one socket in ten seconds. */
  messages: number
  /**
   * Maximum unread bytes of one socket. A socket above it that stays so is terminated; its client resumes by cursor.
   */
  bufferedBytes: number
  /** Maximum unread bytes of all sockets together; above it, the sockets with the most are terminated. */
  maxUnreadBytes: number
  /** Milliseconds that a client has to confirm the close of its socket by the server. */
  closeMs: number
}

export const defaultLimits: SocketLimits = {
  maxPayload: 256 * 1024,
  maxKnownPayload: 2 * 1024 * 1024,
  initTimeoutMs: 5000,
  keepAliveMs: 12_000,
  operations: 100,
  messages: 1000,
  bufferedBytes: 1024 * 1024,
  maxUnreadBytes: 64 * 1024 * 1024,
  closeMs: 1000,
}

/** The id of an operation, which every client writes before its payload. */
const idInFront = /^\s*\{(?:\s*"type"\s*:\s*"\w{1,20}"\s*,)?\s*"id"\s*:\s*"([^"\\]{1,256})"/

/** graphql-ws parses and serializes natively: messages keep their digits. `prepare` puts back what comes in packed. */
export function exact(socket: WebSocket): WebSocket {
  const [emit, send] = [socket.emit.bind(socket), socket.send.bind(socket)]
  const receive = (bytes: Buffer, ...more: unknown[]) => {
    if (bytes.length <= maxBodyBytes) return emit('message', packText(String(bytes)), ...more)
    const id = idInFront.exec(bytes.subarray(0, 512).toString())?.[1]
    if (id === undefined) socket.close(1009)
    else send(writeJson({ id, type: 'error', payload: [tooLarge] }))
    // It counts as a message like any other.
    return emit('message', '{"type":"pong"}', ...more)
  }
  return Object.assign(socket, {
    emit: (event: string, ...args: [Buffer, ...unknown[]]) =>
      event === 'message' ? receive(...args) : emit(event, ...args),
    send: (data: string, ...rest: []) => send(typeof data === 'string' ? unpackText(data) : data, ...rest),
  })
}

const tooLarge = {
  message: `The operation is larger than ${maxBodyBytes} bytes.`,
  extensions: { code: 'INVALID' },
}

/**
 * Raises the limit of a message once the socket has shown a key. The package has one limit for all sockets, and reads it
 * from its receiver for each message.
 */
export function allowLargeMessages(socket: WebSocket, maxBytes: number): void {
  const { _receiver: receiver } = socket as unknown as { _receiver: { _maxPayload: number } }
  receiver._maxPayload = maxBytes
}

/** Time between checks, in milliseconds. */
const checkMs = 1000
/** Time in which the unread bytes of a socket above its limit must decrease, in milliseconds. */
const stalledMs = 5000
/** Time in which they must be back below the limit, in milliseconds. */
const slowMs = 60_000

interface Backlog {
  since: number
  decreasedAt: number
  bytes: number
}

/**
 * Checks the sockets every second, until `stop`. Terminates a socket with more than `bufferedBytes` unread when they do
 * not decrease for 5 s, or stay above it for 60 s, and the sockets with the most while all together have more than
 * `maxUnreadBytes`. Their clients resume by cursor.
 */
export function watchSockets(
  sockets: Iterable<WebSocket>,
  { bufferedBytes, maxUnreadBytes }: SocketLimits,
): { stop(): void } {
  const backlogs = new WeakMap<WebSocket, Backlog>()
  const timer = setInterval(() => {
    const now = performance.now()
    const waiting: { socket: WebSocket; bytes: number }[] = []
    let total = 0
    for (const socket of sockets) {
      const bytes = socket.bufferedAmount
      if (bytes > bufferedBytes && isStuck(backlogs, socket, bytes, now)) socket.terminate()
      else if (bytes > 0) {
        waiting.push({ socket, bytes })
        total += bytes
      }
      if (bytes <= bufferedBytes) backlogs.delete(socket)
    }
    if (total <= maxUnreadBytes) return
    waiting.sort((a, b) => b.bytes - a.bytes)
    for (const { socket, bytes } of waiting) {
      if (total <= maxUnreadBytes) return
      socket.terminate()
      total -= bytes
    }
  }, checkMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

function isStuck(
  backlogs: WeakMap<WebSocket, Backlog>,
  socket: WebSocket,
  bytes: number,
  now: number,
): boolean {
  const known = backlogs.get(socket) ?? { since: now, decreasedAt: now, bytes }
  const decreasedAt = bytes < known.bytes ? now : known.decreasedAt
  backlogs.set(socket, { since: known.since, decreasedAt, bytes })
  return now - decreasedAt >= stalledMs || now - known.since >= slowMs
}
