/** Time that has passed for sure, also over a suspended machine. */

export interface Moment {
  monotonic: number
  wall: number
}

export function momentNow(): Moment {
  return { monotonic: performance.now(), wall: Date.now() }
}

/**
 * Milliseconds since then, the larger of two answers: the monotonic clock stands still while a machine sleeps, the
 * wall clock may be set back.
 */
export function elapsedSince({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall)
}
