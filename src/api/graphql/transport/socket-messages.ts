/**
 * Messages of sockets, as large as bodies over HTTP: small ones until a key was shown; one that is a little too large ends
 * its operation alone, and only a huge one the socket (1009).
 */
import type { WebSocket } from 'ws'
import { packText, unpackText, writeJson } from '../../../core/json.ts'
import { maxBodyBytes } from '../../http/bodies.ts'

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
