/** The one error class of the house and the closed list of its codes. Faces translate it; nobody else throws for strangers. */

/** Every code that a stranger may see. A code is a promise: names are never reused for another meaning. */
export const errorCodes = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'INVALID',
  'CONFLICT',
  'NAME_TAKEN',
  'IDEMPOTENCY_CONFLICT',
  'GENERATION_TERMINAL',
  'APPROVAL_ALREADY_DECIDED',
  'APPROVAL_EXPIRED',
  'BAD_CURSOR',
  'CURSOR_EXPIRED',
  'LIMITED',
  'RESPONSE_TOO_LARGE',
  'EXPIRED',
  'UPSTREAM',
  'UNAVAILABLE',
  'INTERNAL',
] as const

export type ErrorCode = (typeof errorCodes)[number]

/** One fault in an input: where it is (path from the input's root) and what to do about it. Never echoes the value. */
export interface Issue {
  path: string[]
  message: string
}

export interface AppErrorDetails {
  /** For INVALID: every fault found, not only the first. */
  issues?: Issue[]
  /** For LIMITED: when another try may succeed, in milliseconds. */
  retryAfterMs?: number
  /** For FORBIDDEN: the action that was missing. */
  action?: string
  /** For NAME_TAKEN, CONFLICT and the two of approvals: the id of the thing that stands in the way. */
  conflictingId?: string
  /** For CURSOR_EXPIRED: going on from here gives everything that the log holds. */
  oldestCursor?: string
  /** For CURSOR_EXPIRED: going on from here gives what comes from now on. */
  newestCursor?: string
}

/** An error that a caller may see as it is: `message` is for people and holds no internals. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: AppErrorDetails

  constructor(code: ErrorCode, message: string, details: AppErrorDetails = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AppError'
    this.code = code
    this.details = details
  }
}

/** INVALID with its list of faults; the message names the first path, so that a log line is enough. */
export function invalid(issues: Issue[]): AppError {
  const first = issues[0] ?? { path: ['input'], message: 'is invalid' }
  return new AppError('INVALID', `${first.path.join('.')}: ${first.message}`, { issues })
}

/** One fault at one path. */
export function invalidAt(path: string[], message: string): AppError {
  return invalid([{ path, message }])
}

/** NOT_FOUND in the same words whether the thing is missing or belongs to somebody else. */
export function notFound(what: string, id: string): AppError {
  return new AppError('NOT_FOUND', `No ${what} with the id ${JSON.stringify(id.slice(0, 80))}.`)
}
