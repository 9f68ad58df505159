/** When a delivery that failed is sent again. Pure. */

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** After the first failure, the second, and so on. After the last one the delivery is dead. */
const delaysMs = [5 * second, minute, 5 * minute, 30 * minute, 2 * hour, 12 * hour]
const longestAskedMs = 24 * hour

/** Plus or minus a tenth, so that what failed together is not sent again together. */
export function jittered(milliseconds: number, random: () => number = Math.random): number {
  return milliseconds * (0.9 + 0.2 * random())
}

/**
 * Milliseconds until the next attempt after so many failures; null: there is none. What the receiver asked for with
 * Retry-After is the least.
 */
export function retryDelayMs(
  failures: number,
  askedMs: number | null,
  random: () => number = Math.random,
): number | null {
  const delay = delaysMs[failures - 1]
  return delay === undefined ? null : Math.max(jittered(delay, random), askedMs ?? 0)
}

/** So many rounds in which everything failed, one after another, and the endpoint is taken to be down. */
export const roundsUntilDown = 3
const longestProbeMs = 5 * minute

/** Milliseconds until the next event is tried at an endpoint that is down. */
export function probeDelayMs(failures: number, random: () => number = Math.random): number {
  return jittered(Math.min(5 * second * 2 ** (failures - roundsUntilDown), longestProbeMs), random)
}

/** The milliseconds of a Retry-After header, at most a day; null when there is none, or none that can be read. */
export function askedDelayMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null
  const milliseconds = /^\d+$/.test(header) ? Number(header) * second : Date.parse(header) - nowMs
  return Number.isFinite(milliseconds) ? Math.min(Math.max(milliseconds, 0), longestAskedMs) : null
}
