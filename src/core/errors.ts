/**
 * AppError is the only error whose message may reach a client. Each API layer maps its code; every other error is
 * masked.
 */
import { shortText } from './text.ts'
import { writeJson } from './json.ts'

/** Every error code that a client may see. A code keeps its meaning for ever. */
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

/** What an operation may refuse so that a client must handle it. */
export type RefusalCode = Exclude<
  ErrorCode,
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'BAD_CURSOR'
  | 'CURSOR_EXPIRED'
  | 'RESPONSE_TOO_LARGE'
  | 'EXPIRED'
  | 'UNAVAILABLE'
  | 'INTERNAL'
>

/** One fault in an input: its path from the root of the input, and what is wrong. Never contains the value. */
export interface Issue {
  path: string[]
  message: string
}

export interface AppErrorDetails {
  /** For INVALID: every fault found. */
  issues?: Issue[]
  /** For LIMITED: milliseconds until a retry may succeed. */
  retryAfterMs?: number
  /** For FORBIDDEN: the action that the caller lacks. */
  action?: string
  /** For NAME_TAKEN, CONFLICT and the APPROVAL_ codes: the id of the conflicting object. */
  conflictingId?: string
  /** For CURSOR_EXPIRED: the cursor to resume from to get every event that the log still holds. */
  oldestCursor?: string
  /** For CURSOR_EXPIRED: the cursor to resume from to get only new events. */
  newestCursor?: string
  /** For CURSOR_EXPIRED and NOT_FOUND of what was removed: when, ISO 8601. */
  removedAt?: string
}

/** An error that a client may see unchanged: `message` is for people and contains no internals. */
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

/** INVALID with its list of faults. The message names the first fault with its path. */
export function invalid(issues: Issue[]): AppError {
  const first = issues[0] ?? { path: ['input'], message: 'is invalid' }
  return new AppError('INVALID', `${first.path.join('.')}: ${first.message}`, { issues })
}

/** INVALID with one fault at one path. */
export function invalidAt(path: string[], message: string): AppError {
  return invalid([{ path, message }])
}

/** NOT_FOUND with the same message whether the object does not exist or belongs to another project. */
export function notFound(what: string, id: string): AppError {
  return new AppError('NOT_FOUND', `No ${what} with the id ${writeJson(shortText(id, 80))}.`)
}
