/** What can go wrong on the way out, in one closed list of codes. Messages never hold an address, a header or a stack. */

type EgressCode =
  | 'BLOCKED_ADDRESS'
  /** A name that means such an address: told to strangers in the words of CONNECT, so that nobody maps our network. */
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
 * A request that did not end well. `sent` is the fact that exactly-once stands on: false means that surely no byte of
 * the request has left (blocked, unresolved, refused, still connecting), true that the other side may have acted on it.
 * The `cause` is for our own log only.
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

/** Any failure below as an EgressError; `sent` is what the trace of the whole exchange says, redirects included. */
export function toEgressError(error: unknown, sent: boolean): EgressError {
  if (error instanceof EgressError)
    return error.sent === sent ? error : new EgressError(error.code, error.message, sent, error.cause)
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new EgressError('TIMEOUT', 'The other side fell silent.', sent, error)
  if (code === 'UND_ERR_INVALID_ARG')
    return new EgressError('NETWORK', 'The request holds something that HTTP cannot carry.', sent, error)
  return new EgressError('NETWORK', 'The connection broke before the answer was complete.', sent, error)
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
