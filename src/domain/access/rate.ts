/** How often one key may ask: a bucket for each, in this process. */
import { AppError } from '../../core/errors.ts'
import type { Clock } from '../../core/clock.ts'

export interface RateLimit {
  /** Takes one request of the key, or throws LIMITED with the time after which the next may come. */
  take(keyId: string): void
}

const maxBuckets = 100_000

/** `perMinute` requests a minute, all at once if they come so; the bucket fills evenly. */
export function createRateLimit(clock: Clock, perMinute: number): RateLimit {
  const buckets = new Map<string, { left: number; at: number }>()
  const perMs = perMinute / 60_000
  return {
    take(keyId) {
      const now = clock.now()
      const bucket = buckets.get(keyId) ?? { left: perMinute, at: now }
      bucket.left = Math.min(perMinute, bucket.left + (now - bucket.at) * perMs)
      bucket.at = now
      if (buckets.size >= maxBuckets) buckets.clear()
      buckets.set(keyId, bucket)
      if (bucket.left < 1) {
        const retryAfterMs = Math.ceil((1 - bucket.left) / perMs)
        throw new AppError('LIMITED', `This key may ask ${perMinute} times a minute.`, { retryAfterMs })
      }
      bucket.left -= 1
    },
  }
}
