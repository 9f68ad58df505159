/** The context of an operation: the services of this process and the principal of the request. */
import type { z } from 'zod'
import { part } from '../../../core/shapes.ts'
import * as view from '../../../core/view.ts'
import type { Principal } from '../principals/subjects.ts'
import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/time.ts'
import type { ToolResult } from '../../../core/content.ts'
import { notFound } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import type { Pool } from '../../../core/pool.ts'
import type { TraceContext, Meters } from '../../../core/telemetry/unit.ts'
import type { BlobStore } from '../../../store/blobs/blobs.ts'
import type { Database } from '../../../store/db/database.ts'
import type { DatabaseHealth } from '../../../store/db/connection.ts'
import { projects } from '../../../store/db/tables/access.ts'
import type { EventBroadcaster } from '../../../store/events/broadcaster.ts'
import type { PubSub } from '../../../store/pubsub/pubsub.ts'
import type { Heartbeat } from '../../../store/work/leases.ts'
import type { Schedule } from '../../../store/work/schedule.ts'
import type { Slots } from '../../../store/work/worker.ts'
import type { Egress, Mailer } from '../../egress/index.ts'
import type { Limits, RateLimiter } from '../limits/limiter.ts'

/** Ends streams, sockets and held requests when the key or session that opened them ends. */
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

/** What survives a crash. */
interface StoreServices {
  db: Database
  /** The same database over a pool of its own, for claims, heartbeats and outcomes. */
  leaseDb: Database
  /** Whether the database can be written, and what waits for its answer. */
  health: DatabaseHealth
  /** The bytes of files. */
  blobs: BlobStore
}

/** The work of this process, and what it learns of others. */
interface WorkServices {
  /** Renews the leases of this process. */
  heartbeat: Heartbeat
  /** Free slots of the workers of this process. */
  slots: Slots
  /** Reports when rows of the work tables are due. */
  schedule: Schedule
  pubsub: PubSub
  broadcaster: EventBroadcaster
}

/** Who may act, how often and how long. */
interface AccessServices {
  revocations: RevocationWatcher
  /** Rate limits of keys, projects, agents and tools. */
  rates: RateLimiter
  /** The master key, 32 bytes, with which secrets and tokens are encrypted. */
  masterKey: Buffer
}

/** The identity provider whose people use this server. */
export interface IdentityProvider {
  issuer: string
  /** The issuers beside it to which sign-ins may be sent, to be exchanged there. */
  exchangeIssuers: readonly string[]
  /** Whether people can sign in with a browser. */
  signsIn: boolean
  /**
   * Requests tokens of its token endpoint as the client that this server is there. Throws a TokenRefusedError when the
   * provider refuses, and any other error when it cannot be asked.
   */
  requestTokens(parameters: Record<string, string>): Promise<JsonObject>
  /** Whether an access token of a sign-in is good at the provider; null when that cannot be judged. Never throws. */
  accepts(accessToken: string): Promise<boolean | null>
}

/** The identity provider has refused; `error` is its OAuth error code, or empty. */
export class TokenRefusedError extends Error {
  readonly status: number
  readonly error: string

  constructor(status: number, error: string) {
    super(`The identity provider responded ${status}${error && ` (${error})`}.`)
    this.name = 'TokenRefusedError'
    this.status = status
    this.error = error
  }
}

/** What lies outside of this process, and how it is seen from there. */
interface OutsideServices {
  egress: Egress
  /** Null where none is configured. */
  identity: IdentityProvider | null
  /** Sends mails; null where the settings for it are missing. */
  mailer: Mailer | null
  /** Connections that stay open between requests, such as those to upstreams. */
  connections: Pool
  /** The public URL of this server, without a final slash. Empty until the server listens. */
  publicUrl(): string
  actions: PlatformActions
}

/** All services. Created once for each process, in app.ts. */
export interface Services extends StoreServices, WorkServices, AccessServices, OutsideServices {
  clock: Clock
  log: Log
  /** Where durations and tokens are counted. */
  meters: Meters
  limits: Limits
  release: Release
  /** What the tour of a first start shows; null without the demo. */
  tour: TourParts | null
}

/** The demo of this process, as the tour uses it. */
export interface TourParts {
  agentId: string
  toolId: string
  prompt: string
  /** How many requests the upstream of the demo has executed. */
  effects(): Promise<number>
  /** Has this process killed and started again, a moment later so that it can answer; null where nothing would start it. */
  kill: (() => void) | null
}

/** Which program this is. */
export const releaseShape = part('Release', 'The release of a server.', {
  version: view.text('The semantic version of the server.'),
  schema: view.text('The name of the newest migration that the server has for its database.'),
})
export type Release = z.output<typeof releaseShape>

/** The context of one request. */
export interface Ctx extends Services {
  principal: Principal
  requestId: string
  /** The client address of the request, for the audit log. */
  remoteAddress: string | null
  /** The place in the caller's trace; absent without one. */
  trace?: TraceContext | undefined
  /** How a person answers from outside the page and the APIs; absent for any other request. */
  via?: 'SLACK' | 'LINK'
}

/** An operation of Gatehouse, offered as a tool. See docs/decisions/0008. */
export const platformAction = part(
  'PlatformAction',
  'An operation of Gatehouse that a platform tool can offer.',
  {
    name: view.text('The name of the action in kebab-case.'),
    description: view.text('The description of the operation.'),
    inputSchema: view.jsonSchema('The JSON Schema of the arguments.'),
  },
)
export interface PlatformAction extends z.output<typeof platformAction> {
  /** MCP tool annotations. Trusted, because they come from Gatehouse itself. */
  annotations: { readOnlyHint?: boolean; destructiveHint?: boolean }
  /** The JSON Schema of its result. Not part of the hash. */
  outputSchema: JsonObject
  /** Arguments that may loosen a rule, a gate above all: a call with one of them is stopped by default. */
  loosening: readonly string[]
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

/**
 * The given project, or the caller's own when none is given. NOT_FOUND when the caller has no access to it, and when an operator,
 * whose key reaches all, names one that does not exist. No project is ever deleted, so that it exists from then on.
 */
export async function projectOf(ctx: Ctx, projectId: string | null | undefined): Promise<string> {
  const own = ctx.principal.projectId
  if (projectId === null || projectId === undefined || projectId === own) return own
  const [found] = reaches(ctx, projectId)
    ? await ctx.db.select({ id: projects.id }).from(projects).where(eq(projects.id, projectId))
    : []
  if (!found) throw notFound('project', projectId)
  return found.id
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
