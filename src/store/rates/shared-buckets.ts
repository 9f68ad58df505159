/**
 * Token buckets that all replicas share: a replica takes a chunk of tokens from the store and serves requests from the
 * chunk.
 */
import { createBuckets, type BucketRule } from '../../core/buckets.ts'
import type { Clock } from '../../core/time.ts'
import type { Log } from '../../core/log.ts'

/** The store of shared buckets: PostgreSQL or Redis. */
export interface BucketStore {
  /**
   * Atomically takes at least `needed` and at most `chunk` tokens; `granted` is 0 when there are too few. `left` is
   * what remains in the store.
   */
  take(
    name: string,
    rule: BucketRule,
    needed: number,
    chunk: number,
  ): Promise<{ granted: number; left: number }>
  close(): Promise<void>
}

export interface SharedBuckets {
  /** Takes the tokens and returns 0; when too few are left, takes none and returns the milliseconds to wait. */
  take(name: string, rule: BucketRule, tokens: number): number | Promise<number>
  /** Puts tokens back. */
  giveBack(name: string, rule: BucketRule, tokens: number): void
  /** The tokens that are left, as of the last take of this replica. */
  left(name: string, rule: BucketRule): number
  close(): Promise<void>
}

/** A chunk is this fraction of the capacity: 1/20. */
const chunkPart = 20
/** The unused rest of a chunk expires after this time, in milliseconds. */
const chunkMs = 10_000
const maxChunks = 100_000
/** The time limit of the store, in milliseconds; after it the replica uses its own buckets. */
const storeMs = 500

interface Chunk {
  tokens: number
  at: number
  /** The tokens that were left in the store. */
  shared: number
  /** The take from the store that is running. */
  fetching: Promise<void> | null
  /** Until then the bucket is empty, as the store returned. */
  emptyUntil: number
  /** How long that was when it was told, in milliseconds. */
  emptyMs: number
}

/** Without a store the buckets are those of this process, which also serve while the store does not respond. */
export function createSharedBuckets(clock: Clock, log: Log, store: BucketStore | null): SharedBuckets {
  const own = createBuckets(maxChunks)
  if (!store)
    return {
      take: (name, rule, tokens) => own.take(name, rule, tokens, clock.now()),
      giveBack: (name, rule, tokens) => own.giveBack(name, rule, tokens, clock.now()),
      left: (name, rule) => own.left(name, rule, clock.now()),
      close: async () => {},
    }
  const chunks = createChunks(clock, chunkFetcher(clock, log, store, own))
  return {
    take(name, rule, asked) {
      const tokens = Math.min(asked, rule.capacity)
      const chunk = chunks.of(name)
      if (chunk.tokens < tokens) return chunks.take(name, rule, tokens)
      chunk.tokens -= tokens
      return 0
    },
    giveBack(name, rule, tokens) {
      const chunk = chunks.of(name)
      chunk.tokens = Math.min(rule.capacity, chunk.tokens + tokens)
    },
    left(name, rule) {
      const chunk = chunks.known(name)
      return chunk ? Math.min(rule.capacity, chunk.tokens + chunk.shared) : rule.capacity
    },
    close: () => store.close(),
  }
}

/** Fills a chunk with at least what is needed and returns 0, or returns the milliseconds to wait. */
type FetchChunk = (name: string, rule: BucketRule, needed: number, chunk: Chunk) => Promise<number>

/** Takes chunks from the store, or from the buckets of this process while the store does not respond. */
function chunkFetcher(
  clock: Clock,
  log: Log,
  store: BucketStore,
  own: ReturnType<typeof createBuckets>,
): FetchChunk {
  const fill = (chunk: Chunk, tokens: number) => {
    chunk.tokens += tokens
    chunk.at = clock.now()
  }
  return async (name, rule, needed, chunk) => {
    const size = Math.max(needed, Math.floor(rule.capacity / chunkPart))
    try {
      const { granted, left } = await inTime(store.take(name, rule, needed, size))
      fill(chunk, granted)
      chunk.shared = left
      if (granted > 0) return 0
      const waitMs = Math.max(1, Math.ceil((needed - left) / rule.perMs))
      chunk.emptyUntil = clock.now() + waitMs
      chunk.emptyMs = waitMs
      return waitMs
    } catch (error) {
      log.debug({ err: error }, 'the store of rate limits did not respond; this replica uses its own')
      const waitMs = own.take(name, rule, needed, clock.now())
      if (waitMs === 0) fill(chunk, needed)
      return waitMs
    }
  }
}

/** The chunks of this replica. Concurrent takes that need more tokens of one bucket wait for one fetch. */
function createChunks(clock: Clock, fetchChunk: FetchChunk) {
  const chunks = new Map<string, Chunk>()
  const of = (name: string): Chunk => {
    const now = clock.now()
    const known = chunks.get(name)
    if (known && now - known.at > chunkMs) known.tokens = 0
    const chunk = known ?? { tokens: 0, at: now, shared: 0, fetching: null, emptyUntil: 0, emptyMs: 0 }
    chunks.delete(name)
    chunks.set(name, chunk)
    if (chunks.size > maxChunks) chunks.delete(chunks.keys().next().value!)
    return chunk
  }
  const take = async (name: string, rule: BucketRule, tokens: number): Promise<number> => {
    for (;;) {
      const chunk = of(name)
      if (chunk.tokens >= tokens) {
        chunk.tokens -= tokens
        return 0
      }
      const leftMs = chunk.emptyUntil - clock.now()
      // Longer than it was told: the clock was set back since.
      if (leftMs > 0 && leftMs <= chunk.emptyMs) return leftMs
      if (chunk.fetching) {
        await chunk.fetching
        continue
      }
      let waitMs = 0
      chunk.fetching = fetchChunk(name, rule, tokens - chunk.tokens, chunk).then((ms) => {
        waitMs = ms
        chunk.fetching = null
      })
      await chunk.fetching
      if (waitMs > 0) return waitMs
    }
  }
  return { of, take, known: (name: string) => chunks.get(name) }
}

async function inTime<T>(response: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${storeMs} ms`)), storeMs)
  })
  try {
    return await Promise.race([response, late])
  } finally {
    clearTimeout(timer)
  }
}
