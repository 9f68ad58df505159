/** What an operation gets: the services of this process, and who is asking. */
import type { Clock } from '../../core/clock.ts'
import type { ToolResult } from '../../core/content.ts'
import type { Pool } from '../../core/pool.ts'
import { notFound } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Blobs } from '../../store/blobs/disk.ts'
import type { Database } from '../../store/db/database.ts'
import type { PubSub } from '../../store/events/pubsub.ts'
import type { Heartbeat } from '../../store/work/leases.ts'
import type { Live } from '../../store/events/live.ts'
import type { Egress } from '../egress/index.ts'
import type { Policy } from './policy.ts'
import type { RateLimiter } from './rate.ts'

/** What operations use. Made once for each process, in app.ts. */
export interface Services {
  db: Database
  /** The same database over connections that nothing else keeps busy: for claims, heartbeats and outcomes. */
  leaseDb: Database
  /** The leases of this process on rows that it works on. */
  heartbeat: Heartbeat
  pubsub: PubSub
  live: Live
  revocations: RevocationWatcher
  /** How often keys, projects, agents and tools may be used. */
  rates: RateLimiter
  clock: Clock
  log: Log
  egress: Egress
  /** Connections that stay open between requests, as those to upstreams. */
  connections: Pool
  /** 32 bytes that seal secrets. */
  masterKey: Buffer
  /** The bytes of files. */
  blobs: Blobs
  /** How the outside reaches this server, without a slash at the end. Known once it listens. */
  publicUrl(): string
  limits: Limits
  actions: PlatformActions
}

/** Sizes and times that the operator may change. */
export interface Limits {
  /** Largest answer read from an http tool, in bytes. */
  maxResponseBytes: number
  /** Time for one tool call unless the tool says otherwise, in milliseconds. */
  toolTimeoutMs: number
  /** How long a claimed row stays with its worker without a heartbeat, in milliseconds. */
  leaseMs: number
  /** Model attempts: time to the first piece, between pieces, and in all, in milliseconds. */
  modelFirstChunkMs: number
  modelIdleMs: number
  modelTotalMs: number
  /** The largest file, in bytes. */
  maxFileBytes: number
  /** Streams and sockets that one key, and all keys of a project, have open at once on one replica. */
  maxStreamsPerKey: number
  maxStreamsPerProject: number
  /** The bytes of all files of one project together. */
  maxProjectFileBytes: number
  /** Media types of files that are taken, as `text/csv` or `image/*`. */
  fileTypes: readonly string[]
  /** Tools, agents, keys, providers, secrets, grants and files: at most so many of each in a project. */
  maxRowsPerProject: number
}

/** Who is asking. */
export interface Principal {
  /** The id of the key or of the provider's subject; it stands in `requestedBy` and in the audit. */
  id: string
  name: string
  /** The project that is meant when an operation names none. */
  projectId: string
  /** An operator's key reaches every project; any other only its own. */
  installation: boolean
  /** The built-in role it was made with; null for a policy of its own. Gates ask for roles. */
  role: string | null
  policy: Policy
  expiresAt: Date | null
  /** False for a key that is marked as a program: it never decides about approvals or changes of gates. */
  votes: boolean
  /** The one agent whose bridge this key opens, and nothing else; null for all that the policy allows. */
  agentId: string | null
}

/** What stays open on somebody's behalf. */
export interface RevocationWatcher {
  /**
   * Calls `end` once when the principal's key is revoked, on whichever replica, or when its time is over. The answer
   * forgets it. LIMITED when the key or its project has as many open on this replica as it may. A revocation of which no bell has told is found within 5 seconds.
   */
  onRevoked(principal: Pick<Principal, 'id' | 'projectId' | 'expiresAt'>, end: () => void): () => void
  close(): void
}

/** One request. */
export interface Ctx extends Services {
  principal: Principal
  requestId: string
  /** Where the request came from, for the audit. */
  remoteAddress: string | null
}

/** One of our own operations, offered as a tool. See decision 8. */
export interface PlatformAction {
  /** kebab-case, such as `create-tool`. */
  name: string
  description: string
  inputSchema: JsonObject
  /** In the words of MCP. They are our own, so they are believed. */
  annotations: { readOnlyHint?: boolean; destructiveHint?: boolean }
  /** Changes when anything above does. */
  hash: string
}

/** The port to all of them. The face that knows the schema fills it. */
export interface PlatformActions {
  list(): readonly PlatformAction[]
  find(name: string): PlatformAction | null
  /**
   * Runs an action in this process with the caller's own rights. A refusal of the operation is a result with `isError`;
   * INVALID for arguments that do not fit, NOT_FOUND for an unknown action.
   */
  run(ctx: Ctx, name: string, args: JsonObject): Promise<ToolResult>
}

/** Whether rows of that project exist for the caller at all. */
export function reaches(ctx: Ctx, projectId: string): boolean {
  return ctx.principal.installation || ctx.principal.projectId === projectId
}

/** The project meant: the one named, when the caller can reach it, else the caller's own. */
export function projectOf(ctx: Ctx, projectId: string | null | undefined): string {
  if (projectId === null || projectId === undefined) return ctx.principal.projectId
  if (!reaches(ctx, projectId)) throw notFound('project', projectId)
  return projectId
}

/** The row when it exists for the caller; NOT_FOUND in the same words when it is missing or another project's. */
export function reachable<Row extends { projectId: string }>(
  ctx: Ctx,
  row: Row | null | undefined,
  what: string,
  id: string,
): Row {
  if (!row || !reaches(ctx, row.projectId)) throw notFound(what, id)
  return row
}
