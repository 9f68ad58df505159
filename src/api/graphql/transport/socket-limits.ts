/** The limits of WebSockets: of one socket and of all sockets together. */

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
