/** Faults of the database that a caller may hear of: the input's own, and that it cannot be reached. */
import { AppError } from '../../core/errors.ts'
import { sqlState } from '../../store/db/database.ts'
import { isUnavailable } from '../../store/db/storage-error.ts'

/** When another try is worth it, in milliseconds. */
const retryMs = 1000

/** The error as one that a caller may see, or null when it is ours. */
export function asAppError(error: unknown): AppError | null {
  if (error instanceof AppError) return error
  if (isUnavailable(error))
    return new AppError(
      'UNAVAILABLE',
      'The database cannot be reached right now, or is too busy. The request may have taken effect: send it again with the same idempotency key.',
      { retryAfterMs: retryMs },
      error,
    )
  const state = sqlState(error)
  // A NUL character in a text or in JSON, or half a surrogate pair in JSON, which is told as a fault of its syntax.
  const half = state === '22P02' && innermost(error).message.includes('for type json')
  if (state !== '22P05' && state !== '22021' && !half) return null
  const message = 'contains a character that cannot be stored (NUL, or half of a surrogate pair)'
  return new AppError('INVALID', `input: ${message}`, { issues: [{ path: ['input'], message }] })
}

function innermost(error: unknown): Error {
  let at = error as Error
  while (at.cause instanceof Error) at = at.cause
  return at
}
