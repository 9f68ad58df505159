/** Maps storage errors that a client may see: invalid input, and a database, a disk or a bucket that is unavailable. */
import { AppError } from '../../core/errors.ts'
import { BucketFaultError, DiskFaultError } from '../../store/blobs/blobs.ts'
import { sqlState } from '../../store/db/database.ts'
import { isOutage } from '../../store/db/storage-error.ts'

/** When the client may try again, in milliseconds. */
const retryMs = 1000
/** The same for what a person must fix first. */
const diskRetryMs = 30_000

/** The error as an AppError that a client may see, or null for an internal error. */
export function asAppError(error: unknown): AppError | null {
  if (error instanceof AppError) return error
  if (isOutage(error))
    return new AppError(
      'UNAVAILABLE',
      'The database is unavailable or too busy. The request may have taken effect: repeat it with the same idempotency key.',
      { retryAfterMs: retryMs },
      error,
    )
  if (error instanceof DiskFaultError)
    return new AppError(
      'UNAVAILABLE',
      'The disk of files takes no bytes, because it is full or faulty. Nothing was stored: try again later.',
      { retryAfterMs: diskRetryMs },
      error,
    )
  if (error instanceof BucketFaultError)
    return new AppError(
      'UNAVAILABLE',
      'The object store of files cannot be used now. The request changed no file: try again later.',
      { retryAfterMs: error.isLasting ? diskRetryMs : retryMs },
      error,
    )
  const state = sqlState(error)
  // NUL in a text or in JSON has codes of its own; PostgreSQL reports a lone surrogate as invalid JSON syntax.
  const loneSurrogate = state === '22P02' && innermost(error).message.includes('for type json')
  if (state !== '22P05' && state !== '22021' && !loneSurrogate) return null
  const message = 'contains a character that cannot be stored (NUL, or a lone surrogate)'
  return new AppError('INVALID', `input: ${message}`, { issues: [{ path: ['input'], message }] })
}

function innermost(error: unknown): Error {
  let at = error as Error
  while (at.cause instanceof Error) at = at.cause
  return at
}
