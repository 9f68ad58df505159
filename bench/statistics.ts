/** Percentiles, medians, ratios, and work in lanes: the arithmetic of the measurements. */

/** The value below which `share` (0 to 1) of the values lie; NaN when there are none. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The middle value, or the mean of the two in the middle; NaN when there are none. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return sorted[middle]!
  return (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Rounds to three significant digits, and never cuts digits before the decimal point. */
export function rounded(value: number): number {
  if (!Number.isFinite(value) || value === 0) return value
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return Number(value.toFixed(Math.min(decimals, 6)))
}

/** Runs `work` `total` times, `concurrency` of them at once. Returns the seconds. Rejects with the first failure. */
export async function inLanes(
  total: number,
  concurrency: number,
  work: () => Promise<unknown>,
): Promise<number> {
  const started = performance.now()
  let left = total
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) await work()
    }),
  )
  return (performance.now() - started) / 1000
}

/** Runs `work` in lanes that begin another until the time is over; each runs at least once. Rejects with the first failure. */
export async function inTime(
  seconds: number,
  concurrency: number,
  work: () => Promise<unknown>,
): Promise<{ done: number; seconds: number }> {
  const started = performance.now()
  const passed = () => (performance.now() - started) / 1000
  let done = 0
  const lane = async () => {
    do {
      await work()
      done++
    } while (passed() < seconds)
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  return { done, seconds: passed() }
}

/** The milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

export const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds))
