/** Faults that only the database notices and that are the input's own. */
import { AppError } from '../../core/errors.ts'
import { sqlState } from '../../store/db/database.ts'

/** The error as one that a caller may see, or null when it is ours. */
export function asAppError(error: unknown): AppError | null {
  if (error instanceof AppError) return error
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
