/** How much a socket may take. */

/** What one socket, or one address with its sockets, may do. */
export interface SocketLimits {
  /** Bytes of one message. */
  maxPayload: number
  /** Milliseconds until the first message must have come. */
  initTimeoutMs: number
  keepAliveMs: number
  /** Operations at once on one socket. */
  operations: number
  /** Messages of one socket in ten seconds. */
  messages: number
  /** Bytes that may wait for a client that does not read; then the socket is ended and resumes by cursor. */
  bufferedBytes: number
  /** The same for all sockets together. */
  maxUnreadBytes: number
  /** Sockets of one remote address. */
  perAddress: number
  /** Milliseconds that a client has to answer when the server closes its socket. */
  closeMs: number
}

export const usualLimits: SocketLimits = {
  maxPayload: 256 * 1024,
  initTimeoutMs: 5000,
  keepAliveMs: 12_000,
  operations: 100,
  messages: 1000,
  bufferedBytes: 1024 * 1024,
  maxUnreadBytes: 64 * 1024 * 1024,
  perAddress: 20_000,
  closeMs: 1000,
}
