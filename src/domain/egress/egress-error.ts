/** Errors of outgoing requests, with a closed list of codes. Messages never contain an address, a header or a stack. */

type EgressCode =
  | 'BLOCKED_ADDRESS'
  /**
   * A name that resolves to a blocked address. Has the message of CONNECT, so that no client can map the internal
   * network.
   */
  | 'BLOCKED_NAME'
  | 'BAD_URL'
  | 'TIMEOUT'
  | 'TOO_LARGE'
  | 'TOO_MANY_REDIRECTS'
  | 'CONNECT'
  | 'ABORTED'
  | 'WITHHELD'
  | 'NETWORK'

/**
 * A failed outgoing request. `sent` decides whether a tool call can be UNKNOWN: false means that no byte of the request
 * was sent (blocked, not resolved, refused, still connecting), true that the server may have acted on it. `cause` is
 * for the log only.
 */
export class EgressError extends Error {
  readonly code: EgressCode
  readonly sent: boolean

  constructor(code: EgressCode, message: string, sent: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'EgressError'
    this.code = code
    this.sent = sent
  }
}

/** Any failure as an EgressError; `sent` comes from the trace of the whole exchange, redirects included. */
export function toEgressError(error: unknown, sent: boolean): EgressError {
  if (error instanceof EgressError)
    return error.sent === sent ? error : new EgressError(error.code, error.message, sent, error.cause)
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new EgressError('TIMEOUT', 'The server stopped responding.', sent, error)
  if (code === 'UND_ERR_INVALID_ARG')
    return new EgressError(
      'NETWORK',
      'The request contains a character that HTTP does not allow.',
      sent,
      error,
    )
  return new EgressError('NETWORK', 'The connection was lost before the response was complete.', sent, error)
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
