/** Failures of upstreams: stable codes, and messages that reveal nothing internal. */
import {
  IssuerMismatchError,
  AuthorizationServerMismatchError,
  InsecureTokenEndpointError,
  InsufficientScopeError,
  OAuthClientFlowError,
  OAuthError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { asText, isJsonObject, tryParseForeignJson } from '../../core/json.ts'
import { EgressError } from '../egress/index.ts'
import { cleanText } from './catalog/clean.ts'

/** The codes are stable: clients filter by them. */
export type FaultCode =
  | 'authorization_failed'
  | 'authorization_required'
  | 'blocked_address'
  | 'cancelled'
  | 'connection_lost'
  | 'http_error'
  | 'input_required'
  | 'insufficient_scope'
  | 'invalid_configuration'
  | 'invalid_response'
  | 'issuer_mismatch'
  | 'login_required'
  | 'no_person'
  | 'output_schema_violation'
  | 'response_too_large'
  | 'secret_missing'
  | 'secret_refused'
  | 'timeout'
  | 'unreachable'
  | 'upstream_error'
  | 'upstream_unavailable'

export interface FaultFacts {
  /** The HTTP status, when there is one. */
  status?: number
  /** The JSON-RPC error code, when the upstream sent one. */
  rpcCode?: number
  /** The `data` of the upstream's JSON-RPC error. */
  rpcData?: unknown
  /** Time until a retry makes sense, in milliseconds. */
  retryAfterMs?: number
  /** The scopes that were missing. */
  scope?: string
  /** The person who must log in. */
  person?: string
}

/** A failure whose message may be shown to clients unchanged. */
export class UpstreamFault extends Error {
  readonly code: FaultCode
  readonly facts: FaultFacts

  constructor(code: FaultCode, message: string, facts: FaultFacts = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'UpstreamFault'
    this.code = code
    this.facts = facts
  }
}

/** Faults that state the outcome of a call: the upstream or its authorization server refused it, or it failed. */
const finalAnswers = new Set<FaultCode>([
  'authorization_failed',
  'authorization_required',
  'input_required',
  'insufficient_scope',
  'issuer_mismatch',
  'upstream_error',
])

/** True when the fault states the call's outcome. An HTTP error does not: only an MCP message answers a call. */
export function isFinalAnswer({ code }: UpstreamFault): boolean {
  return finalAnswers.has(code)
}

/**
 * True when the server may have lost the session, in whatever way it says so: the connection is then given up, and the next
 * request opens another. It says nothing about whether this request may be sent again.
 */
export function mayHaveLostSession({ code, message, facts }: UpstreamFault): boolean {
  if (code === 'upstream_error') return facts.status !== undefined || /\bsession|initiali[sz]/i.test(message)
  return suspicious.has(code)
}

const suspicious = new Set<FaultCode>([
  'authorization_failed',
  'authorization_required',
  'connection_lost',
  'http_error',
  'invalid_response',
  'unreachable',
])

const maxTextLength = 1000

/** Turns any error into an UpstreamFault. */
export function faultOf(error: unknown): UpstreamFault {
  const known = inChain(error, UpstreamFault)
  if (known) return known
  const egress = inChain(error, EgressError)
  if (egress) return egressFault(egress)
  if (error instanceof Error && error.name === 'TimeoutError')
    return new UpstreamFault('timeout', 'The server did not answer in time.', {}, error)
  return (
    authorizationFault(error) ??
    httpFault(error) ??
    protocolFault(error) ??
    new UpstreamFault('invalid_response', 'The response of the server is not a valid MCP message.', {}, error)
  )
}

/** Untrusted text of an upstream, cleaned and cut for people and models. */
export function untrustedText(text: string): string {
  return cleanText(text, maxTextLength)
}

function egressFault(error: EgressError): UpstreamFault {
  switch (error.code) {
    case 'BLOCKED_ADDRESS':
    case 'BAD_URL':
      return new UpstreamFault('blocked_address', error.message, {}, error)
    case 'CONNECT':
    case 'BLOCKED_NAME':
      return new UpstreamFault('unreachable', 'The server could not be reached.', {}, error)
    case 'TIMEOUT':
      return new UpstreamFault('timeout', 'The server did not answer in time.', {}, error)
    case 'ABORTED':
      return new UpstreamFault('cancelled', 'The request was cancelled.', {}, error)
    case 'TOO_LARGE':
      return new UpstreamFault('response_too_large', error.message, {}, error)
    case 'TOO_MANY_REDIRECTS':
      return new UpstreamFault('http_error', error.message, {}, error)
    case 'WITHHELD':
      return new UpstreamFault('cancelled', error.message, {}, error)
    case 'NETWORK':
      return new UpstreamFault('connection_lost', 'The connection to the server broke.', {}, error)
  }
}

function authorizationFault(error: unknown): UpstreamFault | null {
  if (inChain(error, IssuerMismatchError) || inChain(error, AuthorizationServerMismatchError))
    return new UpstreamFault(
      'issuer_mismatch',
      'The server names another authorization server than the one that is configured. Nothing was sent to it.',
      {},
      error,
    )
  const scope = inChain(error, InsufficientScopeError)
  if (scope)
    return new UpstreamFault(
      'insufficient_scope',
      'The server requires scopes that its token does not have.',
      { status: 403, scope: scope.requiredScope ?? '' },
      error,
    )
  if (inChain(error, InsecureTokenEndpointError))
    return new UpstreamFault(
      'authorization_failed',
      'The token endpoint of the authorization server is not https.',
      {},
      error,
    )
  if (inChain(error, UnauthorizedError))
    return new UpstreamFault(
      'authorization_required',
      'The server requires authorization.',
      { status: 401 },
      error,
    )
  const oauth = inChain(error, OAuthError)
  if (oauth) {
    // Error codes are defined by OAuth; descriptions are untrusted text.
    const code = /^[a-z_]{1,60}$/.test(asText(oauth.code)) ? ` (${asText(oauth.code)})` : ''
    return new UpstreamFault('authorization_failed', `The authorization server refused${code}.`, {}, error)
  }
  if (inChain(error, OAuthClientFlowError))
    return new UpstreamFault('authorization_failed', 'The authorization server refused us.', {}, error)
  return null
}

function httpFault(error: unknown): UpstreamFault | null {
  const http = inChain(error, SdkHttpError)
  const sse = inChain(error, SseError)
  const status = http?.status ?? sse?.code
  if (status === undefined)
    return sse ? new UpstreamFault('unreachable', 'The server could not be reached.', {}, error) : null
  if (status === 401)
    return new UpstreamFault(
      'authorization_required',
      'The server requires authorization.',
      { status },
      error,
    )
  const refusal = http ? refusalIn(http) : null
  if (refusal) return refusal
  return new UpstreamFault('http_error', `The server answered with HTTP ${status}.`, { status }, error)
}

/** JSON-RPC codes that MCP 2026-07-28 sends with an HTTP error status. Other codes may come from a proxy. */
const codesWithStatus = new Set([-32601, -32602, -32020, -32021, -32022])

/** True for an error of the server's own: it has read the request, and its HTTP status does not say that it did not act. */
export function isOwnError({ code, facts: { rpcCode } }: UpstreamFault): boolean {
  return code === 'upstream_error' && rpcCode !== undefined && !codesWithStatus.has(rpcCode)
}

/** An error under the id of the request, which no server knows that has not read it, or with a code of the protocol. */
function refusalIn(error: SdkHttpError): UpstreamFault | null {
  const { status = 0 } = error
  const body = typeof error.data['text'] === 'string' ? tryParseForeignJson(error.data['text']) : undefined
  const rpcError = isJsonObject(body) ? body['error'] : undefined
  if (!isJsonObject(body) || !isJsonObject(rpcError) || typeof rpcError['code'] !== 'number') return null
  const isOwn = typeof body['id'] === 'number' && status < 500 && status !== 408
  if (!isOwn && !codesWithStatus.has(rpcError['code'])) return null
  const facts = {
    rpcCode: rpcError['code'],
    rpcData: rpcError['data'],
    ...(codesWithStatus.has(rpcError['code']) ? {} : { status }),
  }
  const text = typeof rpcError['message'] === 'string' ? untrustedText(rpcError['message']) : ''
  return new UpstreamFault('upstream_error', text || 'The server refused.', facts, error)
}

function protocolFault(error: unknown): UpstreamFault | null {
  const protocol = inChain(error, ProtocolError)
  if (protocol) {
    const facts = { rpcCode: protocol.code, rpcData: protocol.data }
    return new UpstreamFault(
      'upstream_error',
      untrustedText(protocol.message) || 'The server refused.',
      facts,
      error,
    )
  }
  const sdk = inChain(error, SdkError)
  if (!sdk) return null
  if (sdk.code === SdkErrorCode.RequestTimeout)
    return new UpstreamFault('timeout', 'The server did not answer in time.', {}, error)
  if (sdk.code === SdkErrorCode.ConnectionClosed || sdk.code === SdkErrorCode.NotConnected)
    return new UpstreamFault('connection_lost', 'The connection to the server broke.', {}, error)
  return null
}

function inChain<Kind>(error: unknown, kind: abstract new (...args: never[]) => Kind): Kind | null {
  let at = error
  for (let depth = 0; depth < 6 && at instanceof Error; depth++, at = at.cause)
    if (at instanceof kind) return at as Kind
  return null
}
