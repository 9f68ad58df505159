/** Elapsed time that also counts while the machine is suspended. */

export interface Moment {
  monotonic: number
  wall: number
}

export function momentNow(): Moment {
  return { monotonic: performance.now(), wall: Date.now() }
}

/**
 * Milliseconds since the moment by the clock that shows more: the monotonic clock stops while a machine sleeps, and
 * the wall clock may be set back.
 */
export function elapsedSince({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall)
}
