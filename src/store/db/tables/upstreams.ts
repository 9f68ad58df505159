/** Upstream MCP servers: state and catalog, OAuth tokens, and pending logins. */
import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, jsonb, moment, projectId, updatedAt, workColumns } from './columns.ts'

/** One row for each mcp tool, with the tool's id. `wake_at` is when it is discovered again. */
export const upstreams = pgTable(
  'upstreams',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** URL, headers and authorization, with names of secrets and never their values. */
    config: jsonb('config').notNull(),
    /**
     * Raised by every change of the configuration and every new or lost login; older connections are not used again.
     */
    configVersion: integer('config_version').notNull().default(1),
    /** PENDING CONNECTED DEGRADED UNREACHABLE AUTHORIZATION_REQUIRED */
    status: text('status').notNull().default('PENDING'),
    /** The negotiated protocol and transport, and when they were negotiated. */
    verdict: jsonb('verdict'),
    verdictAt: moment('verdict_at'),
    /** When it last responded. */
    lastSeenAt: moment('last_seen_at'),
    /** When its lists were last read. */
    refreshedAt: moment('refreshed_at'),
    /** `{code, message}` of the last discovery; null: it succeeded. */
    error: jsonb('error'),
    /** Discoveries that failed in a row. */
    failures: integer('failures').notNull().default(0),
    /** Until then calls fail at once, because too many discoveries failed. */
    retryAt: moment('retry_at'),
    /** Its lists as JSON text, which keeps the order of properties. */
    catalog: text('catalog'),
    catalogHash: text('catalog_hash'),
    /** The process that listens to its notifications. */
    listener: text('listener'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    ...workColumns(),
  },
  (t) => [
    index('upstreams_of').on(t.projectId, t.status),
    index('upstreams_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
  ],
)

const tokenColumns = () => ({
  /** The encrypted tokens; null: none. */
  sealed: text('sealed'),
  /** When the access token expires; null when the server did not say. */
  expiresAt: moment('expires_at'),
  /** The client registration, encrypted because dynamic registration may return a secret. */
  client: text('client'),
  /** The URL of the Protected Resource Metadata in its last challenge. */
  metadataUrl: text('metadata_url'),
  /** Raised whenever the tokens change, so that a process that waits for a refresh sees that it is done. */
  version: integer('version').notNull().default(0),
  /** Until then one process requests new tokens; `asker` is its fencing token. */
  askedUntil: moment('asked_until'),
  asker: integer('asker').notNull().default(0),
  updatedAt: updatedAt(),
})

/** OAuth tokens of an upstream. The row exists from its first authorization on. */
export const upstreamTokens = pgTable('upstream_tokens', {
  upstreamId: text('upstream_id').primaryKey(),
  projectId: projectId(),
  ...tokenColumns(),
  /** The key or person whose login got the tokens, and when; null for tokens that no person got. */
  connectedBy: text('connected_by'),
  connectedAt: moment('connected_at'),
})

/**
 * The login of one person at an upstream whose calls run with the login of the person they are for, from the first attempt on,
 * for the client registration; and, with `signInId` for the upstream, the tokens of its sign-in, where upstreams exchange them.
 */
export const personLogins = pgTable(
  'person_logins',
  {
    /** Changes with each login: connections of an earlier one are not used again. */
    id: text('id').primaryKey(),
    /** Where the tokens name through whom the person acts, those ids stand behind it, the last one first, after a space each. */
    upstreamId: text('upstream_id').notNull(),
    projectId: projectId(),
    /** See `personsOf` in domain/access. */
    person: text('person').notNull(),
    /** When the person logged in; null: before that, since the server refused the login, and for a sign-in without a session. */
    connectedAt: moment('connected_at'),
    ...tokenColumns(),
  },
  (t) => [
    uniqueIndex('person_logins_of').on(t.upstreamId, t.person),
    index('person_logins_person').on(t.person),
  ],
)

/** A person who was redirected to an authorization server. The redirect back deletes the row, once. */
export const upstreamLogins = pgTable(
  'upstream_logins',
  {
    /** SHA-256 of the OAuth state, hex. The state itself is never stored. */
    stateHash: text('state_hash').primaryKey(),
    upstreamId: text('upstream_id').notNull(),
    projectId: projectId(),
    /** The version of the configuration at the start: a change voids the login. */
    configVersion: integer('config_version').notNull(),
    /** The PKCE verifier and the metadata of the authorization server, encrypted. */
    sealed: text('sealed').notNull(),
    /**
     * SHA-256 of the cookie of the browser that confirmed the login, hex; null before. Only that browser may complete
     * it.
     */
    browserHash: text('browser_hash'),
    startedBy: text('started_by').notNull(),
    /** The person whose own login it is; null for the login that everybody shares. */
    person: text('person'),
    expiresAt: moment('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    index('upstream_logins_upstream').on(t.upstreamId),
    index('upstream_logins_expiry').on(t.expiresAt),
  ],
)
