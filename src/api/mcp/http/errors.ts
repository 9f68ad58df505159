/** Maps errors to JSON-RPC codes and HTTP statuses. Every error has a stable `data.type`. */
import { randomUUID } from 'node:crypto'
import { MissingRequiredClientCapabilityError, ProtocolError } from '@modelcontextprotocol/server'
import { AppError, type ErrorCode } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import { asAppError } from '../../../domain/access/index.ts'
import { retryAfter } from '../../http/replies.ts'

/** The codes of JSON-RPC and MCP, and our own, which are outside the range that JSON-RPC reserves. */
export const codes = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  /** With the SEED error profile only. */
  unknownToolSeed: -32601,
  timeoutSeed: -32003,
  forbidden: 403001,
  conflict: 409001,
  tooLarge: 413001,
  limited: 429001,
  unavailable: 503001,
} as const

interface ErrorMapping {
  code: number
  /** The HTTP status when the request is refused before the SDK serves it. */
  status: number
}

const mappings: Record<ErrorCode, ErrorMapping> = {
  UNAUTHENTICATED: { code: 401001, status: 401 },
  FORBIDDEN: { code: codes.forbidden, status: 403 },
  NOT_FOUND: { code: codes.invalidParams, status: 404 },
  INVALID: { code: codes.invalidParams, status: 400 },
  CONFLICT: { code: codes.conflict, status: 409 },
  NAME_TAKEN: { code: codes.conflict, status: 409 },
  IDEMPOTENCY_CONFLICT: { code: codes.conflict, status: 409 },
  GENERATION_TERMINAL: { code: codes.conflict, status: 409 },
  APPROVAL_ALREADY_DECIDED: { code: codes.conflict, status: 409 },
  APPROVAL_EXPIRED: { code: codes.conflict, status: 409 },
  BAD_CURSOR: { code: codes.invalidParams, status: 400 },
  CURSOR_EXPIRED: { code: codes.invalidParams, status: 410 },
  LIMITED: { code: codes.limited, status: 429 },
  RESPONSE_TOO_LARGE: { code: codes.tooLarge, status: 413 },
  EXPIRED: { code: codes.conflict, status: 410 },
  UPSTREAM: { code: codes.internal, status: 502 },
  UNAVAILABLE: { code: codes.unavailable, status: 503 },
  INTERNAL: { code: codes.internal, status: 500 },
}

/** A JSON-RPC error with its `data.type`. */
export function protocolError(code: number, message: string, type: string, more: object = {}): ProtocolError {
  return new ProtocolError(code, message, { type, ...more })
}

/** NOT_FOUND as MCP's error for an unknown resource; any other error unchanged. */
export function resourceFault(error: unknown, uri: string): unknown {
  if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') return error
  return protocolError(codes.invalidParams, 'Resource not found', 'resource_not_found', { uri })
}

/** A JSON-RPC error of an upstream. */
export interface ProtocolFault {
  code: number
  message: string
  data?: JsonObject
}

/** The code for a capability that the request needs and the client did not declare. */
export const missingCapability = -32021

/** An upstream's error for our client. */
export function faultError({ code, message, data }: ProtocolFault): ProtocolError {
  if (code !== missingCapability) return protocolError(code, message, 'upstream_error', data)
  const requiredCapabilities = (data?.['requiredCapabilities'] ?? {}) as object
  return new MissingRequiredClientCapabilityError({ requiredCapabilities })
}

/**
 * The error as a client may see it. AppErrors are mapped and ProtocolErrors passed on; every other error is logged and
 * masked, with an id to find it in the log.
 */
export function toProtocolError(error: unknown, log: Log): ProtocolError {
  if (error instanceof ProtocolError) return error
  const known = asAppError(error)
  if (known) {
    if (known.code === 'UNAVAILABLE')
      log.warn({ err: known.cause }, 'the database was not available for a request')
    const { issues, retryAfterMs, action } = known.details
    return protocolError(mappings[known.code].code, known.message, known.code.toLowerCase(), {
      ...(issues ? { issues } : {}),
      ...(retryAfterMs ? { retry_after_ms: retryAfterMs } : {}),
      ...(action ? { action } : {}),
    })
  }
  const errorId = randomUUID()
  log.error({ err: error, errorId }, 'an unexpected error reached an MCP client')
  return protocolError(codes.internal, 'Internal error', 'internal_error', { error_id: errorId })
}

/** The error of a request that is refused before the SDK serves it: HTTP status, headers and a JSON-RPC body. */
export function toHttpError(
  error: unknown,
  log: Log,
  id: string | number | null,
): { status: number; headers: Record<string, string>; body: object } {
  const { code, message, data } = toProtocolError(error, log)
  const known = asAppError(error)
  return {
    status: known ? mappings[known.code].status : 500,
    headers: retryAfter(known?.details.retryAfterMs),
    body: rpcError(id, code, message, data as object),
  }
}

/** A JSON-RPC error response. */
export function rpcError(id: string | number | null, code: number, message: string, data: object): object {
  return { jsonrpc: '2.0', id, error: { code, message, data } }
}

/** Message and issues of an INVALID error; null for any other error. */
export function invalidIssues(error: unknown): { message: string; issues: object[] } | null {
  const known = error instanceof AppError && error.code === 'INVALID' ? error : null
  return known ? { message: known.message, issues: known.details.issues ?? [] } : null
}
