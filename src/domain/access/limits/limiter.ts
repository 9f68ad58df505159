/** Rate limits: the port to those of keys, projects, agents and tools, and the limit of client addresses. */
import { createBuckets, perMinute, type BucketRule } from '../../../core/buckets.ts'
import type { Clock } from '../../../core/clock.ts'

/** A client may have any number of addresses, so only so many are kept; the least recently used one is removed. */
const maxAddresses = 50_000

/** The owner of a limit: a key or person, and its project. */
export interface RatedCaller {
  id: string
  projectId: string
}

/** The state of a limit, for response headers. */
export interface Quota {
  name: string
  rule: BucketRule
  left: number
}

/** Takes from the limits. One for each process; all replicas share the buckets. */
export interface RateLimiter {
  /** Takes requests from the limit of a key, and of its project if it has one. Throws LIMITED with the time to wait. */
  takeRequests(principal: RatedCaller, requests: number): Promise<void>
  /** Takes the cost of a GraphQL operation of a key; returns the milliseconds to wait, or 0. */
  takeCost(principal: RatedCaller, cost: number): number | Promise<number>
  giveBackCost(principal: RatedCaller, cost: number): void
  /** What is left of the limits of a key. */
  quotas(principal: RatedCaller): { requests: Quota; cost: Quota }
  /** Takes one use of a tool or an agent; returns the milliseconds to wait, or 0. Without a limit it is always 0. */
  takeUse(projectId: string, scope: 'AGENT' | 'TOOL', targetId: string): Promise<number>
  /** Puts back a use for a call that did not run: it is a repeat, or it waits for an approval. */
  giveBackUse(projectId: string, scope: 'AGENT' | 'TOOL', targetId: string): Promise<void>
  /** The tools of a project that have a limit, by id. */
  limitedTools(projectId: string): Promise<ReadonlySet<string>>
  /** Drops the cached limits of a project. */
  forget(projectId: string): void
  close(): Promise<void>
}

/** The rate limit of requests without a valid key, by client address. */
export interface AddressLimit {
  /** Takes one request; returns the milliseconds to wait, or 0. */
  take(address: string): number
  /** Puts the request back, because its key was valid. */
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
