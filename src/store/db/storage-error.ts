/** Errors between this process and its database. They do not tell what is in the rows: read the rows again. */
import { DrizzleQueryError } from 'drizzle-orm'

/**
 * A statement could not be sent, or its outcome is not known. The caller must read the rows again before it decides
 * anything.
 */
export class StorageError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StorageError'
  }
}

/** The connection was lost before or while a statement ran. The statement may have been executed. */
export class ConnectionLostError extends StorageError {
  constructor(message = 'The connection to the database was lost.', cause?: unknown) {
    super(message, cause)
    this.name = 'ConnectionLostError'
  }
}

/** The connection was lost during COMMIT: the transaction may have been committed. */
export class CommitUnknownError extends ConnectionLostError {
  constructor(cause?: unknown) {
    super(
      'The connection to the database was lost during COMMIT; the transaction may have been committed.',
      cause,
    )
    this.name = 'CommitUnknownError'
  }
}

/** No connection was available: the server is down or refuses, or all connections were busy for too long. */
export class NoConnectionError extends StorageError {
  constructor(message: string, cause?: unknown) {
    super(message, cause)
    this.name = 'NoConnectionError'
  }
}

/** Gatehouse cannot run on this database, or not in this way. The message is for the operator. */
export class UnusableDatabaseError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnusableDatabaseError'
  }
}

/** Whether the error comes from the database, its driver or the connection. */
export function isStorageError(error: unknown): boolean {
  return error instanceof StorageError || error instanceof DrizzleQueryError
}

/** SQLSTATE classes and codes that concern the state of the server and not the statement. */
const unavailable = /^(08|53|57P|58|55P03|57014|25P03|25006)/

/** Whether a retry of the same request may succeed. */
export function isUnavailable(error: unknown): boolean {
  for (let e = error as { code?: unknown; cause?: unknown } | undefined; e; e = e.cause as typeof e) {
    if (e instanceof StorageError) return true
    if (typeof e.code === 'string' && /^[0-9A-Z]{5}$/.test(e.code)) return unavailable.test(e.code)
  }
  return false
}
