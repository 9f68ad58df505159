/** Requests to speak another protocol from now on: only WebSocket is one. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'

/** How long the client of a refused upgrade may keep its side of the connection open, in milliseconds. */
const lingerMs = 1000

/** Refuses an upgrade, such as `403 Forbidden`. Nothing else would end a connection that its client keeps half-open. */
export function refuseUpgrade(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  // Unread bytes would hide that the client has closed its side.
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}

/** Whether a client asks for a WebSocket. Others offer HTTP/2 with each request, as that of Java does, and take HTTP/1.1 as well. */
export function isForSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.trim().toLowerCase() === 'websocket'
}

/**
 * Serves a request as if it did not ask for another protocol (RFC 9110, section 7.8): Node, which has let go of the
 * connection, reads it again without that.
 */
export function serveWithoutUpgrade(
  server: Server,
  { method, url, httpVersion, rawHeaders, headers }: IncomingMessage,
  socket: Duplex,
  rest: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (!/^(?:connection|upgrade|http2-settings)$/i.test(rawHeaders[i]!))
      lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`)
  if (/\bclose\b/i.test(headers.connection ?? '')) lines.push('Connection: close')
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), rest]))
  server.emit('connection', socket)
}
