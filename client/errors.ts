/** The errors of this client. `code` is stable and for programs, the message is for people. */
import type { Approval } from './operation-types.ts'

/** One fault in an input: its path, and what is wrong with it. */
export interface Issue {
  path: readonly string[]
  message: string
}

/** What a server says beside code and message. */
interface Details {
  issues?: readonly Issue[]
  action?: string
  errorId?: string
  retryAfterMs?: number | null
  oldestCursor?: string
  newestCursor?: string
  isLate?: boolean
  approval?: Approval | null
}

/** A request or stream that failed. The codes are those of the schema's ErrorCode, and those of the subclasses here. */
export class GatehouseError extends Error {
  readonly code: string
  /** What identifies an unexpected error in the server's log; null for expected ones. */
  readonly errorId: string | null

  constructor(code: string, message: string, details: Details = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
    this.errorId = details.errorId ?? null
  }
}

/** UNREACHABLE: no answer came. The request may have taken effect; one that is safe to repeat was repeated before. */
export class UnreachableError extends GatehouseError {
  /** Whether the request was sent and not answered in time, as one whose work takes longer. */
  readonly isLate: boolean
  constructor(code: string, message: string, details: Details) {
    super(code, message, details)
    this.isLate = details.isLate ?? false
  }
}

/** UNAUTHENTICATED: the key or session is not valid, or not any more. */
export class UnauthenticatedError extends GatehouseError {}

/** FORBIDDEN: `action` is the permission that is missing. */
export class ForbiddenError extends GatehouseError {
  readonly action: string | null
  constructor(code: string, message: string, details: Details) {
    super(code, message, details)
    this.action = details.action ?? null
  }
}

/** NOT_FOUND: the object does not exist for this key. */
export class NotFoundError extends GatehouseError {}

/** INVALID: nothing was written; `issues` lists all faults. */
export class ValidationError extends GatehouseError {
  readonly issues: readonly Issue[]
  constructor(code: string, message: string, details: Details) {
    super(code, message, details)
    this.issues = details.issues ?? []
  }
}

/** CONFLICT, APPROVAL_ALREADY_DECIDED, APPROVAL_EXPIRED, NAME_TAKEN, IDEMPOTENCY_CONFLICT or GENERATION_TERMINAL. */
export class ConflictError extends GatehouseError {
  /** The approval of a refused verdict, as it is now; null for other conflicts. */
  readonly approval: Approval | null
  constructor(code: string, message: string, details: Details) {
    super(code, message, details)
    this.approval = details.approval ?? null
  }
}

/** LIMITED: null when waiting does not help. */
export class LimitedError extends GatehouseError {
  readonly retryAfterMs: number | null
  constructor(code: string, message: string, details: Details) {
    super(code, message, details)
    this.retryAfterMs = details.retryAfterMs ?? null
  }
}

/** CURSOR_EXPIRED: the log does not hold the event of the cursor, as after a restore. */
export class CursorExpiredError extends GatehouseError {
  /** The cursor of everything that the log holds. */
  readonly oldestCursor: string | null
  /** The cursor of only what comes. */
  readonly newestCursor: string | null
  constructor(code: string, message: string, details: Details) {
    super(code, message, details)
    this.oldestCursor = details.oldestCursor ?? null
    this.newestCursor = details.newestCursor ?? null
  }
}

type ErrorClass = new (code: string, message: string, details: Details) => GatehouseError

const classes: Record<string, ErrorClass> = {
  UNREACHABLE: UnreachableError,
  UNAUTHENTICATED: UnauthenticatedError,
  FORBIDDEN: ForbiddenError,
  NOT_FOUND: NotFoundError,
  INVALID: ValidationError,
  CONFLICT: ConflictError,
  APPROVAL_ALREADY_DECIDED: ConflictError,
  APPROVAL_EXPIRED: ConflictError,
  NAME_TAKEN: ConflictError,
  IDEMPOTENCY_CONFLICT: ConflictError,
  GENERATION_TERMINAL: ConflictError,
  LIMITED: LimitedError,
  CURSOR_EXPIRED: CursorExpiredError,
}

/** The error of a code, with what the server said about it. */
export function errorOf(code: string, message: string, details: object = {}): GatehouseError {
  const Class = Object.hasOwn(classes, code) ? classes[code]! : GatehouseError
  return new Class(code, message, details as Details)
}

/** An entry of `errors` of a GraphQL response. */
export interface ServerError {
  message: string
  extensions?: Record<string, unknown>
}

/** An error without a code is a fault of the document. */
export function errorFrom({ message, extensions = {} }: ServerError): GatehouseError {
  const { code } = extensions
  return errorOf(typeof code === 'string' ? code : 'INVALID_DOCUMENT', message, extensions)
}

/** The reason of an aborted signal, or an AbortError. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? new DOMException('This operation was aborted', 'AbortError')
}
