/** How often somebody may ask: a bucket for each key, and one for each address without a valid key. In this process. */
import { createBuckets, perMinute } from '../../core/buckets.ts'
import { AppError } from '../../core/errors.ts'
import type { Clock } from '../../core/clock.ts'

export interface RateLimit {
  /** Takes one request of the key, or throws LIMITED with the time after which the next may come. */
  take(keyId: string): void
}

const maxKeys = 100_000
/** Addresses are free to have, so fewer of them are remembered; the one that asked longest ago is forgotten. */
const maxAddresses = 50_000

/** `count` requests a minute, all at once if they come so; the bucket fills evenly. */
export function createRateLimit(clock: Clock, count: number): RateLimit {
  const buckets = createBuckets(maxKeys)
  const rule = perMinute(count)
  return {
    take(keyId) {
      const retryAfterMs = buckets.take(keyId, rule, 1, clock.now())
      if (retryAfterMs > 0)
        throw new AppError('LIMITED', `This key may ask ${count} times a minute.`, { retryAfterMs })
    },
  }
}

/** How often an address may ask without a valid key. */
export interface AddressLimit {
  /** Takes one request; answers the milliseconds to wait, or 0 when it was there. */
  take(address: string): number
  /** The key that came with the request was good after all. */
  giveBack(address: string): void
}

export function createAddressLimit(clock: Clock, count: number): AddressLimit {
  const buckets = createBuckets(maxAddresses)
  const rule = perMinute(count)
  return {
    take: (address) => buckets.take(address, rule, 1, clock.now()),
    giveBack: (address) => buckets.giveBack(address, rule, 1, clock.now()),
  }
}
