/**
 * Token buckets by name for rate limits, in the memory of this process and bounded in number, and the headers that
 * tell of them.
 */
import { BoundedMap } from './bounded.ts'

/** A bucket holds `capacity` tokens and refills evenly with `perMs` tokens each millisecond. */
export interface BucketRule {
  capacity: number
  perMs: number
}

export interface Buckets {
  /** Takes the tokens and returns 0; when too few are left, takes none and returns the milliseconds to wait. */
  take(name: string, rule: BucketRule, tokens: number, now: number): number
  /**
   * Puts tokens back, up to the capacity. A negative number takes tokens, also below zero: later takes wait for the
   * debt.
   */
  giveBack(name: string, rule: BucketRule, tokens: number, now: number): void
  /** The tokens in the bucket now; a debt counts as zero. */
  left(name: string, rule: BucketRule, now: number): number
  size(): number
}

/** `count` tokens a minute, which may all be taken at once. */
export function perMinute(count: number): BucketRule {
  return { capacity: count, perMs: count / 60_000 }
}

/** Keeps at most `maxNames` buckets. Beyond that the least recently used one is removed, which refills it. */
export function createBuckets(maxNames: number): Buckets {
  const buckets = new BoundedMap<string, { left: number; at: number }>(maxNames)
  const refill = (name: string, { capacity, perMs }: BucketRule, now: number) => {
    const known = buckets.get(name)
    if (known) {
      known.left = Math.min(capacity, known.left + Math.max(0, now - known.at) * perMs)
      // Also when the clock was set back: the bucket would get nothing until it shows that time again.
      known.at = now
      return known
    }
    return { left: capacity, at: now }
  }
  return {
    take(name, rule, tokens, now) {
      const bucket = refill(name, rule, now)
      // More tokens than the capacity are taken from a full bucket, which is then in debt.
      const needed = Math.min(tokens, rule.capacity)
      const waitMs = bucket.left >= needed ? 0 : Math.max(1, Math.ceil((needed - bucket.left) / rule.perMs))
      if (waitMs === 0) bucket.left -= tokens
      buckets.set(name, bucket)
      return waitMs
    },
    giveBack(name, rule, tokens, now) {
      const bucket = refill(name, rule, now)
      bucket.left = Math.min(rule.capacity, bucket.left + tokens)
      buckets.set(name, bucket)
    },
    left: (name, rule, now) => Math.max(0, refill(name, rule, now).left),
    size: () => buckets.size,
  }
}

/**
 * `RateLimit-Policy` and `RateLimit` of one limit: the quota and its window in seconds, how much is left, and the
 * seconds until the quota is full again. Integers: the remainder is rounded down, times are rounded up.
 */
export function rateHeaders(
  name: string,
  { capacity, perMs }: BucketRule,
  left: number,
): Record<string, string> {
  const windowSeconds = Math.max(1, Math.ceil(capacity / perMs / 1000))
  const rest = Math.max(0, Math.floor(left))
  const fullSeconds = Math.ceil((capacity - rest) / perMs / 1000)
  return {
    'ratelimit-policy': `"${name}";q=${Math.floor(capacity)};w=${windowSeconds}`,
    ratelimit: `"${name}";r=${rest};t=${fullSeconds}`,
  }
}
