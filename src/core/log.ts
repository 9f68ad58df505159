/** The logger interface of Gatehouse; pino's loggers implement it. */

export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Discards everything. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
