/** How often somebody may ask: the port to the limits of keys, projects, agents and tools, and the limit of addresses. */
import { createBuckets, perMinute, type BucketRule } from '../../core/buckets.ts'
import type { Clock } from '../../core/clock.ts'

/** Addresses are free to have, so only so many are remembered; the one that asked longest ago is forgotten. */
const maxAddresses = 50_000

/** Whose limits they are: a key or token, and its project. */
export interface RatedCaller {
  id: string
  projectId: string
}

/** What is left of something, for those who are told. */
export interface Quota {
  name: string
  rule: BucketRule
  left: number
}

/** Takes from the limits. One for each process; the buckets are shared by all replicas. */
export interface RateLimiter {
  /** Takes requests of a key, and of its project where that has a limit. Throws LIMITED with the time to wait. */
  takeRequests(principal: RatedCaller, requests: number): Promise<void>
  /** Takes the cost of a GraphQL operation of a key; answers the milliseconds to wait, or 0. */
  takeCost(principal: RatedCaller, cost: number): number | Promise<number>
  giveBackCost(principal: RatedCaller, cost: number): void
  /** What a key has left of its requests and of its cost. */
  quotas(principal: RatedCaller): { requests: Quota; cost: Quota }
  /** Takes one use of a tool or an agent; answers the milliseconds to wait, or 0. Without a limit it is always 0. */
  takeUse(projectId: string, scope: 'AGENT' | 'TOOL', targetId: string): Promise<number>
  /** Puts back a use that was none: the call was there before, or waits for a person. */
  giveBackUse(projectId: string, scope: 'AGENT' | 'TOOL', targetId: string): Promise<void>
  /** The tools of a project that have a limit, by id. */
  limitedTools(projectId: string): Promise<ReadonlySet<string>>
  /** Forgets what was read of the limits of a project. */
  forget(projectId: string): void
  close(): Promise<void>
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
