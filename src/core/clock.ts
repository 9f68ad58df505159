/** Time as a value that can be handed over. The database clock decides leases and deadlines; this one only measures and stamps. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }
