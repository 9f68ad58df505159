/** When a failed attempt is tried again. Pure: the caller brings the dice and does the waiting. */

export const retryRules = {
  /** Attempts of one step, the first one included. */
  maxAttempts: 4,
  minDelayMs: 500,
  maxDelayMs: 30_000,
  /** A provider that asks for a longer pause gets it, but no worker holds the generation meanwhile. */
  longestHoldMs: 60_000,
} as const

export interface FailedAttempt {
  /** The number of the attempt that just failed, from 1. */
  attempt: number
  /** What the provider asked for, in milliseconds; null when it said nothing. */
  retryAfterMs: number | null
  /** A number in [0, 1), like `Math.random`. */
  random: () => number
}

export interface RetryPlan {
  delayMs: number
  /** True: put the row back with this much later a wake time instead of waiting with it. */
  requeue: boolean
}

/**
 * How long to wait before the next attempt, or null when there is none left. Full jitter between 0.5 s and a ceiling of
 * 2, 8, 30 s; a retry-after is a lower bound that is never undercut, with up to a tenth (at most 5 s) on top so that
 * clients that were refused together do not come back together.
 */
export function retryDelay({ attempt, retryAfterMs, random }: FailedAttempt): RetryPlan | null {
  if (attempt >= retryRules.maxAttempts) return null
  if (retryAfterMs !== null && retryAfterMs >= retryRules.minDelayMs) {
    const spread = Math.min(retryAfterMs / 10, 5_000)
    return {
      delayMs: Math.round(retryAfterMs + random() * spread),
      requeue: retryAfterMs > retryRules.longestHoldMs,
    }
  }
  const ceiling = Math.min(retryRules.maxDelayMs, 2_000 * 4 ** (Math.max(1, attempt) - 1))
  const jitter = random() * (ceiling - retryRules.minDelayMs)
  return { delayMs: Math.round(retryRules.minDelayMs + jitter), requeue: false }
}
