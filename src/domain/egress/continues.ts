/** Responses `100 Continue` that nobody asked for: HTTP lets a server send them, and undici ends the connection for one. */
import type { Socket } from 'node:net'

const start = Buffer.from('HTTP/1.1 100')
const end = '\r\n\r\n'
/** One larger than this is left to undici, which refuses it. Bytes. */
const maxBytes = 8192

/**
 * Removes `100 Continue` in front of each response that the socket receives. A response is awaited from the moment in which
 * something was written until its first bytes have come. Only for sockets that carry one request at a time.
 */
export function withoutContinues(socket: Socket): void {
  const write = socket.write.bind(socket) as (...parameters: unknown[]) => boolean
  const push = socket.push.bind(socket)
  let isAwaited = false
  let held: Buffer | null = null
  socket.write = (...parameters: unknown[]) => {
    isAwaited = true
    return write(...parameters)
  }
  socket.push = (chunk: Buffer | null, ...more) => {
    if (!isAwaited) return push(chunk, ...more)
    if (chunk === null) {
      if (held) push(held)
      held = null
      return push(null)
    }
    held = held ? Buffer.concat([held, chunk]) : chunk
    const left = withoutContinue(held)
    if (left === null) return true
    held = null
    if (left.length === 0) return true
    isAwaited = false
    return push(left)
  }
}

/** What follows the responses 100; null while it cannot be known yet. */
function withoutContinue(bytes: Buffer): Buffer | null {
  let rest = bytes
  while (startsAlike(rest)) {
    if (rest.length === 0) return rest
    const at = rest.indexOf(end)
    if (at < 0 || rest.length < start.length) return rest.length > maxBytes ? rest : null
    rest = rest.subarray(at + end.length)
  }
  return rest
}

/** Whether these bytes are the beginning of a response 100, as far as they go. */
function startsAlike(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, start.length)
  return bytes.subarray(0, length).equals(start.subarray(0, length))
}
