/** The clock that everything in this process goes by, injectable for tests. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

/** That of this process, which may be wrong: where there is a database server, all replicas go by its clock. */
export const systemClock: Clock = { now: () => Date.now() }
