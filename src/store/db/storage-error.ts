/** What can go wrong between this process and its database. Such an error says nothing about the rows: only they do. */
import { DrizzleQueryError } from 'drizzle-orm'

/**
 * The database could not be asked, or did not say what became of what was asked. Whoever gets it reads the rows again
 * before deciding anything.
 */
export class StorageError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StorageError'
  }
}

/** The connection ended while a statement was under way, or before it was sent. A statement may have been carried out. */
export class ConnectionLostError extends StorageError {
  constructor(message = 'The connection to the database was lost.', cause?: unknown) {
    super(message, cause)
    this.name = 'ConnectionLostError'
  }
}

/** The connection ended while COMMIT was under way: the transaction may have been committed. */
export class CommitUnknownError extends ConnectionLostError {
  constructor(cause?: unknown) {
    super(
      'The connection to the database was lost during COMMIT; it is not known whether it took place.',
      cause,
    )
    this.name = 'CommitUnknownError'
  }
}

/** No connection could be had: the server is away, refuses, or all connections are busy for too long. */
export class NoConnectionError extends StorageError {
  constructor(message: string, cause?: unknown) {
    super(message, cause)
    this.name = 'NoConnectionError'
  }
}

/** Whether the error comes from the database, its driver or the connection, and so tells nothing about the rows. */
export function isStorageError(error: unknown): boolean {
  return error instanceof StorageError || error instanceof DrizzleQueryError
}

/** SQLSTATE classes and codes that tell of the server's state and not of the statement. */
const unavailable = /^(08|53|57P|58|55P03|57014|25P03)/

/** Whether another try may succeed without anybody changing the request. */
export function isUnavailable(error: unknown): boolean {
  for (let e = error as { code?: unknown; cause?: unknown } | undefined; e; e = e.cause as typeof e) {
    if (e instanceof StorageError) return true
    if (typeof e.code === 'string' && /^[0-9A-Z]{5}$/.test(e.code)) return unavailable.test(e.code)
  }
  return false
}
