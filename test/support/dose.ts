/** How much of an open-ended test to run: a little by default, all of it with `npm run chaos`. */
export function dose(small: number, full: number): number {
  return process.env['CHAOS_DOSE'] === 'full' ? full : small
}

/** Numbers in [0, 1) that are the same for the same seed (mulberry32), so that a failed schedule can be repeated. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
