/** Errors as A2A's bindings have them: a number or a status, a sentence, and google.rpc details for programs. */
import { AppError, type ErrorCode } from '../../../core/errors.ts'
import { type JsonObject, writeJson } from '../../../core/json.ts'
import { statusOf } from '../../http/replies.ts'

/** Numbers of JSON-RPC and of A2A 1.0 by the reason that stands in ErrorInfo. */
const numbers = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  VERSION_NOT_SUPPORTED: -32009,
} as const
export type A2aReason = keyof typeof numbers

/** An error that A2A or JSON-RPC itself names. */
export class A2aError extends AppError {
  readonly reason: A2aReason

  constructor(reason: A2aReason, message: string) {
    super(reason === 'TASK_NOT_FOUND' ? 'NOT_FOUND' : 'INVALID', message)
    this.reason = reason
  }
}

/** The same for a task that does not exist, belongs to another agent or is somebody else's. */
export function taskNotFound(id: string): A2aError {
  return new A2aError('TASK_NOT_FOUND', `No task of this agent with the id ${writeJson(id.slice(0, 80))}.`)
}

/** Numbers of our own errors that A2A has no name for; every other one is -32000. */
const ownNumbers: Partial<Record<ErrorCode, number>> = {
  INVALID: -32602,
  BAD_CURSOR: -32602,
  IDEMPOTENCY_CONFLICT: -32602,
  GENERATION_TERMINAL: numbers.UNSUPPORTED_OPERATION,
  INTERNAL: -32603,
}
const otherNumber = -32000

/** The body of the JSON-RPC response to a request with this id; null when it could not be read. */
export function errorBody(error: AppError, id: string | number | null): JsonObject {
  const code = error instanceof A2aError ? numbers[error.reason] : (ownNumbers[error.code] ?? otherNumber)
  return { jsonrpc: '2.0', id, error: { code, message: error.message, data: detailsOf(error) } }
}

/** Names of google.rpc.Code by HTTP status; every other one is UNKNOWN. */
const statusNames: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'OUT_OF_RANGE',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

/** Reasons of FAILED_PRECONDITION: the request is well formed, and refused by the state of the task or by what is served. */
const ofState: readonly A2aReason[] = [
  'TASK_NOT_CANCELABLE',
  'PUSH_NOTIFICATION_NOT_SUPPORTED',
  'UNSUPPORTED_OPERATION',
  'VERSION_NOT_SUPPORTED',
]

/** The body of an error of the HTTP+JSON binding, as google.rpc.Status has it. */
export function statusBody(error: AppError): JsonObject {
  const code = statusOf(error)
  const isOfState = error instanceof A2aError && ofState.includes(error.reason)
  const status = isOfState ? 'FAILED_PRECONDITION' : (statusNames[code] ?? 'UNKNOWN')
  return { error: { code, status, message: error.message, details: detailsOf(error) } }
}

function detailsOf(error: AppError): JsonObject[] {
  const isNamed = error instanceof A2aError
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: isNamed ? error.reason : reasonOf(error.code),
    domain: isNamed || error.code === 'GENERATION_TERMINAL' ? 'a2a-protocol.org' : 'gatehouse',
  }
  const issues = error.details.issues ?? []
  const faults = {
    '@type': 'type.googleapis.com/google.rpc.BadRequest',
    fieldViolations: issues.map(({ path, message }) => ({ field: path.join('.'), description: message })),
  }
  return issues.length > 0 ? [info, faults] : [info]
}

/** A message to a task that has ended is an operation that A2A does not support. */
function reasonOf(code: ErrorCode): string {
  return code === 'GENERATION_TERMINAL' ? 'UNSUPPORTED_OPERATION' : code
}

const httpCodes: readonly ErrorCode[] = ['UNAUTHENTICATED', 'FORBIDDEN', 'LIMITED', 'UNAVAILABLE', 'INTERNAL']

/** 200 for what the protocol itself says; a status of its own for what HTTP, proxies and retries must know. */
export function httpStatusOf(error: AppError): number {
  return httpCodes.includes(error.code) ? statusOf(error) : 200
}
