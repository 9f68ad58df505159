/** Token buckets by name, in this process and bounded: how often somebody may do something. Pure, but for its memory. */

/** A bucket holds `capacity` tokens and fills evenly with `perMs` of them each millisecond. */
export interface BucketRule {
  capacity: number
  perMs: number
}

export interface Buckets {
  /** Takes so many tokens when they are there and answers 0, else takes none and answers the milliseconds to wait. */
  take(name: string, rule: BucketRule, tokens: number, now: number): number
  /** Puts tokens back, up to the capacity. Negative ones are taken, also below zero: a debt that is waited for. */
  giveBack(name: string, rule: BucketRule, tokens: number, now: number): void
  /** What is there now; a debt counts as zero. */
  left(name: string, rule: BucketRule, now: number): number
  size(): number
}

/** `perMinute` tokens a minute, all at once if they are asked for so. */
export function perMinute(count: number): BucketRule {
  return { capacity: count, perMs: count / 60_000 }
}

/** Keeps at most `maxNames` buckets: beyond that the one used longest ago is forgotten, which fills it. */
export function createBuckets(maxNames: number): Buckets {
  const buckets = new Map<string, { left: number; at: number }>()
  const look = (name: string, { capacity, perMs }: BucketRule, now: number) => {
    const known = buckets.get(name)
    if (known) {
      known.left = Math.min(capacity, known.left + Math.max(0, now - known.at) * perMs)
      known.at = Math.max(known.at, now)
      return known
    }
    return { left: capacity, at: now }
  }
  const keep = (name: string, bucket: { left: number; at: number }) => {
    buckets.delete(name)
    buckets.set(name, bucket)
    if (buckets.size > maxNames) buckets.delete(buckets.keys().next().value!)
  }
  return {
    take(name, rule, tokens, now) {
      const bucket = look(name, rule, now)
      // More than fits is taken from a full bucket, and owed.
      const needed = Math.min(tokens, rule.capacity)
      const waitMs = bucket.left >= needed ? 0 : Math.max(1, Math.ceil((needed - bucket.left) / rule.perMs))
      if (waitMs === 0) bucket.left -= tokens
      keep(name, bucket)
      return waitMs
    },
    giveBack(name, rule, tokens, now) {
      const bucket = look(name, rule, now)
      bucket.left = Math.min(rule.capacity, bucket.left + tokens)
      keep(name, bucket)
    },
    left: (name, rule, now) => Math.max(0, look(name, rule, now).left),
    size: () => buckets.size,
  }
}
