/** Rate limit headers of draft-ietf-httpapi-ratelimit-headers-11. Pure. */
import type { BucketRule } from './buckets.ts'

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
