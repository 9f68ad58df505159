/**
 * The clock of this process, injectable for tests. It only measures and stamps: the database clock decides leases and
 * deadlines.
 */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }
