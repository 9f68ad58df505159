/**
 * Rate limits: what an installation can configure, the port to those of keys, projects, agents and tools, and the
 * limit of client addresses.
 */
import { createBuckets, perMinute, type BucketRule } from '../../../core/buckets.ts'
import type { Clock } from '../../../core/time.ts'

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

/** Limits from the configuration. */
export interface Limits {
  /** The largest response of an http tool, in bytes. */
  maxResponseBytes: number
  /** Time for one tool call unless the tool says otherwise, in milliseconds. */
  toolTimeoutMs: number
  /** How long a worker holds a claimed row without a heartbeat, in milliseconds. */
  leaseMs: number
  /** How long an equal request without an idempotency key joins the run of the first one, in milliseconds; 0: never. */
  joinWindowMs: number
  /** For one model attempt, in milliseconds: time to the first chunk, between chunks, and in total. */
  modelFirstChunkMs: number
  modelIdleMs: number
  modelTotalMs: number
  /** The largest file, in bytes. */
  maxFileBytes: number
  /** The most open streams, sockets and held requests of one key, and of all keys of a project, on one replica. */
  maxStreamsPerKey: number
  maxStreamsPerProject: number
  /** The bytes of all files of one project together. */
  maxProjectFileBytes: number
  /** Accepted media types of files, such as `text/csv` or `image/*`. */
  fileTypes: readonly string[]
  /** The most tools, agents, keys, providers, secrets, grants and files, of each kind, in a project. */
  maxRowsPerProject: number
  /** The most webhooks of a project, and the most callbacks that are not finished. */
  maxWebhooksPerProject: number
  maxCallbacksPerProject: number
  /** Time for one delivery of a webhook, in milliseconds. */
  webhookTimeoutMs: number
  /** The base URL of Slack's Web API, without a final slash. */
  slackApiUrl: string
}
