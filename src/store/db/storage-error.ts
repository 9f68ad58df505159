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

/** The SQLSTATE of an error of either driver, five characters; null when it has none. */
export function sqlState(error: unknown): string | null {
  for (let e = error as Caused | undefined; e; e = e.cause as typeof e) if (isSqlState(e.code)) return e.code
  return null
}

interface Caused {
  code?: unknown
  cause?: unknown
}

/** Every SQLSTATE has a digit; codes of Node such as EPIPE and EROFS have none. */
const isSqlState = (code: unknown): code is string =>
  typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)

/**
 * The SQLSTATEs that tell about the server, its connection or other transactions, so that the same statement may succeed later:
 *
 * - `08` the connection failed, or a pooler in between says that it cannot serve it (PgBouncer's own errors are 08P01);
 * - `40` a deadlock or a serialization failure: another transaction was preferred;
 * - `53` no disk space, memory, connection or other resource is left;
 * - `57` an operator or a limit intervened: shutdown, crash, start-up, a statement that took longer than we allow (57014);
 * - `58` the system beneath PostgreSQL failed, such as its disk;
 * - `25006` the server is read-only: it was a primary and is a standby now;
 * - `25P03`, `25P04` an idle or a whole transaction took longer than is allowed, because this process was suspended;
 * - `55P03` a lock was not had in time.
 *
 * Every other one is about the statement and its values, and comes again with them: data (22), constraints (23), rights and
 * names (42), limits of PostgreSQL (54), errors of triggers (P0), internal errors (XX), and whatever is unknown. So is 25P02: what made the
 * transaction fail has been thrown before.
 */
const outages = /^(08|40|53|57|58|25006|25P0[34]|55P03)/

/**
 * Whether the database could not be used now, or its answer was lost: the rows must be read again before anything is decided,
 * and the same statement may succeed later. False for a statement that the database has refused for what it says: it
 * has written nothing, and is refused again. An error of a driver without an SQLSTATE, such as a failed write to the files of the embedded
 * database, tells nothing about the rows: an outage.
 */
export function isOutage(error: unknown): boolean {
  let isOfDriver = false
  for (let e = error as Caused | undefined; e; e = e.cause as typeof e) {
    if (e instanceof StorageError) return true
    if (isSqlState(e.code)) return outages.test(e.code)
    isOfDriver ||= e instanceof DrizzleQueryError
  }
  return isOfDriver
}

/** Whether the error comes from the database, its driver or the connection. */
export function isStorageError(error: unknown): boolean {
  return isOutage(error) || isRefused(error)
}

/** Whether the database has refused a statement for what it says. Nothing of it was written. */
export function isRefused(error: unknown): boolean {
  return sqlState(error) !== null && !isOutage(error)
}
