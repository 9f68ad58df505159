/** When to retry a failed attempt. Pure: the caller passes the random number and waits. */

export const retryRules = {
  /** Attempts of one step, including the first. */
  maxAttempts: 4,
  minDelayMs: 500,
  maxDelayMs: 30_000,
  /**
   * Longest pause during which the worker keeps the generation, in milliseconds; for a longer one the row is
   * released.
   */
  longestHoldMs: 60_000,
} as const

export interface FailedAttempt {
  /** The number of the failed attempt, from 1. */
  attempt: number
  /** The pause that the provider asked for, in milliseconds; null for none. */
  retryAfterMs: number | null
  /** Returns a number in [0, 1), like `Math.random`. */
  random: () => number
}

export interface RetryPlan {
  delayMs: number
  /** True: release the row with a wake-up after the pause instead of waiting. */
  requeue: boolean
}

/**
 * How long to wait before the next attempt; null when none is left. Full jitter between 0.5 s and a ceiling of 2, 8,
 * 30 s. A retry-after is a lower bound, with up to a tenth of it (at most 5 s) added, so that clients that were
 * refused together do not return together.
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
