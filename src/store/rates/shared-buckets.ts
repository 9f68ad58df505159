/** Token buckets that all replicas share: each takes a chunk from the shared place, and the next requests from its chunk. */
import { createBuckets, type BucketRule } from '../../core/buckets.ts'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'

/** Where buckets are shared: one database, or one Redis. */
export interface BucketStore {
  /**
   * Takes at least `needed` tokens and at most `chunk` of them in one step; `granted` is 0 when there are not enough.
   * `left` is what is there then.
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
  /** Takes tokens and answers 0, or takes none and answers the milliseconds to wait. */
  take(name: string, rule: BucketRule, tokens: number): number | Promise<number>
  /** Puts back what was taken too much. */
  giveBack(name: string, rule: BucketRule, tokens: number): void
  /** What is there as far as this replica knows. */
  left(name: string, rule: BucketRule): number
  close(): Promise<void>
}

/** The part of the capacity that a replica takes at once. */
const chunkPart = 20
/** A chunk that was not used up is forgotten after so long, in milliseconds: nobody hoards. */
const chunkMs = 10_000
const maxChunks = 100_000
/** How long the shared place may take to answer, in milliseconds; then the replica goes on by itself. */
const answerMs = 500

interface Chunk {
  tokens: number
  at: number
  /** What was left in the shared place. */
  shared: number
  asking: Promise<void> | null
  /** Until then nothing is there, by the answer of the shared place. */
  emptyUntil: number
}

/** Without a store the buckets are this process's own. A store that does not answer never refuses anybody. */
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

/** Takes chunks from the store; while it does not answer, from this process's own buckets. */
function chunkFetcher(
  clock: Clock,
  log: Log,
  store: BucketStore,
  own: ReturnType<typeof createBuckets>,
): FetchChunk {
  return async (name, rule, needed, chunk) => {
    const size = Math.max(needed, Math.floor(rule.capacity / chunkPart))
    try {
      const { granted, left } = await inTime(store.take(name, rule, needed, size))
      chunk.tokens += granted
      chunk.at = clock.now()
      chunk.shared = left
      if (granted > 0) return 0
      const waitMs = Math.max(1, Math.ceil((needed - left) / rule.perMs))
      chunk.emptyUntil = clock.now() + waitMs
      return waitMs
    } catch (error) {
      log.debug({ err: error }, 'shared limits could not be read; this replica counts by itself')
      const waitMs = own.take(name, rule, needed, clock.now())
      if (waitMs === 0) chunk.tokens += needed
      return waitMs
    }
  }
}

/** The chunks of this replica. Those who need more of a chunk at the same time wait for one fetch. */
function createChunks(clock: Clock, fetchChunk: FetchChunk) {
  const chunks = new Map<string, Chunk>()
  const of = (name: string): Chunk => {
    const now = clock.now()
    const known = chunks.get(name)
    if (known && now - known.at > chunkMs) known.tokens = 0
    const chunk = known ?? { tokens: 0, at: now, shared: 0, asking: null, emptyUntil: 0 }
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
      if (chunk.emptyUntil > clock.now()) return chunk.emptyUntil - clock.now()
      if (chunk.asking) {
        await chunk.asking
        continue
      }
      let waitMs = 0
      chunk.asking = fetchChunk(name, rule, tokens - chunk.tokens, chunk).then((ms) => {
        waitMs = ms
        chunk.asking = null
      })
      await chunk.asking
      if (waitMs > 0) return waitMs
    }
  }
  return { of, take, known: (name: string) => chunks.get(name) }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), answerMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
