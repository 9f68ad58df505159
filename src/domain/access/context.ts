/** The context of an operation: the services of this process and the principal of the request. */
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
import type { Slots } from '../../store/work/slots.ts'
import type { Live } from '../../store/events/live.ts'
import type { Schedule } from '../../store/work/schedule.ts'
import type { Egress } from '../egress/index.ts'
import type { Policy } from './policy.ts'
import type { RateLimiter } from './rate.ts'

/** The services that operations use. Created once for each process, in app.ts. */
export interface Services {
  db: Database
  /** The same database over a pool of its own, for claims, heartbeats and outcomes. */
  leaseDb: Database
  /** Renews the leases of this process. */
  heartbeat: Heartbeat
  /** Free slots of the workers of this process. */
  slots: Slots
  pubsub: PubSub
  /** Reports when rows of the work tables are due. */
  schedule: Schedule
  live: Live
  revocations: RevocationWatcher
  /** Rate limits of keys, projects, agents and tools. */
  rates: RateLimiter
  clock: Clock
  log: Log
  egress: Egress
  /** Connections that stay open between requests, such as those to upstreams. */
  connections: Pool
  /** The master key, 32 bytes, with which secrets and tokens are encrypted. */
  masterKey: Buffer
  /** The bytes of files. */
  blobs: Blobs
  /** The public URL of this server, without a final slash. Empty until the server listens. */
  publicUrl(): string
  limits: Limits
  actions: PlatformActions
}

/** Limits from the configuration. */
export interface Limits {
  /** The largest response of an http tool, in bytes. */
  maxResponseBytes: number
  /** Time for one tool call unless the tool says otherwise, in milliseconds. */
  toolTimeoutMs: number
  /** How long a worker holds a claimed row without a heartbeat, in milliseconds. */
  leaseMs: number
  /** For one model attempt, in milliseconds: time to the first chunk, between chunks, and in total. */
  modelFirstChunkMs: number
  modelIdleMs: number
  modelTotalMs: number
  /** The largest file, in bytes. */
  maxFileBytes: number
  /** The most open streams and sockets of one key, and of all keys of a project, on one replica. */
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

/** The authenticated caller. */
export interface Principal {
  /** The id of the key or of the subject, as in `requestedBy` and in the audit log. */
  id: string
  name: string
  /** The project of an operation whose input names none. */
  projectId: string
  /** An operator's key has access to every project; any other key only to its own. */
  installation: boolean
  /** The built-in role; null for a custom policy. Gates may require a role of the approver. */
  role: string | null
  policy: Policy
  expiresAt: Date | null
  /** False for a key of a program: it may not decide approvals or gate changes. */
  votes: boolean
  /** The one agent to which the key is bound; null: everything that the policy allows. */
  agentId: string | null
  /** The session of the browser that calls; absent for a caller with a key or token. */
  sessionId?: string
}

/** Ends streams and sockets when the key or session that opened them ends. */
export interface RevocationWatcher {
  /**
   * Calls `end` once when the principal's key is revoked, on any replica, or expires, or its session ends. Returns a
   * function that removes the callback. Throws LIMITED when the key or its project already has the most streams that it
   * may have on this replica. A revocation whose hint was lost, and a session that was not used, is found within 5
   * seconds.
   */
  onRevoked(
    principal: Pick<Principal, 'id' | 'projectId' | 'expiresAt' | 'sessionId'>,
    end: () => void,
  ): () => void
  close(): void
}

/** The context of one request. */
export interface Ctx extends Services {
  principal: Principal
  requestId: string
  /** The client address of the request, for the audit log. */
  remoteAddress: string | null
  /** How a person answers from outside the page and the APIs; absent for any other request. */
  via?: 'SLACK' | 'LINK'
}

/** An operation of Gatehouse, offered as a tool. See docs/decisions/0008. */
export interface PlatformAction {
  /** kebab-case, such as `create-tool`. */
  name: string
  description: string
  inputSchema: JsonObject
  /** MCP tool annotations. Trusted, because they come from Gatehouse itself. */
  annotations: { readOnlyHint?: boolean; destructiveHint?: boolean }
  /** A hash over name, description, inputSchema and annotations. */
  hash: string
}

/** The port to all platform actions, implemented by api/graphql. */
export interface PlatformActions {
  list(): readonly PlatformAction[]
  find(name: string): PlatformAction | null
  /**
   * Runs an action in this process with the rights of the caller. When the operation refuses, the result has `isError`.
   * Throws INVALID for arguments that do not match the input schema, NOT_FOUND for an unknown action.
   */
  run(ctx: Ctx, name: string, args: JsonObject): Promise<ToolResult>
}

/** Whether the caller has access to the project. Without access its rows do not exist for the caller. */
export function reaches(ctx: Ctx, projectId: string): boolean {
  return ctx.principal.installation || ctx.principal.projectId === projectId
}

/** The given project, or the caller's own when none is given. NOT_FOUND when the caller has no access to it. */
export function projectOf(ctx: Ctx, projectId: string | null | undefined): string {
  if (projectId === null || projectId === undefined) return ctx.principal.projectId
  if (!reaches(ctx, projectId)) throw notFound('project', projectId)
  return projectId
}

/**
 * The row when it exists for the caller. NOT_FOUND, with one message for both, when it is missing or of another
 * project.
 */
export function reachable<Row extends { projectId: string }>(
  ctx: Ctx,
  row: Row | null | undefined,
  what: string,
  id: string,
): Row {
  if (!row || !reaches(ctx, row.projectId)) throw notFound(what, id)
  return row
}
