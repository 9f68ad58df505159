/** Foreign MCP servers: what is known of each, the tokens it is asked with, and logins that wait for their return. */
import { sql } from 'drizzle-orm'
import { index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId, updatedAt, workColumns } from './columns.ts'

/** One row for each mcp tool, under the tool's id. `wake_at` is when it is looked at again. */
export const upstreams = pgTable(
  'upstreams',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** Address, headers and way to authorize, with names of secrets and never their values. */
    config: jsonb('config').notNull(),
    /** Rises with every change of the configuration and every new or lost login: older connections are not used again. */
    configVersion: integer('config_version').notNull().default(1),
    /** PENDING CONNECTED DEGRADED UNREACHABLE AUTHORIZATION_REQUIRED */
    status: text('status').notNull().default('PENDING'),
    /** Which protocol it speaks and over which transport, as found out at `verdict_at`. */
    verdict: jsonb('verdict'),
    verdictAt: moment('verdict_at'),
    /** When it answered last. */
    lastSeenAt: moment('last_seen_at'),
    /** When its lists were read last. */
    refreshedAt: moment('refreshed_at'),
    /** `{code, message}` of the last look, null when it went well. */
    error: jsonb('error'),
    /** Looks that failed in a row. */
    failures: integer('failures').notNull().default(0),
    /** Until then calls fail at once: too many looks have failed. */
    retryAt: moment('retry_at'),
    /** Its lists as text, so that the order of properties stays as the server wrote it. */
    catalog: text('catalog'),
    catalogHash: text('catalog_hash'),
    /** The process that follows its notifications. */
    listener: text('listener'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    ...workColumns(),
  },
  (t) => [
    index('upstreams_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
  ],
)

/** What an upstream is asked with. A row exists from its first authorization on. */
export const upstreamTokens = pgTable('upstream_tokens', {
  upstreamId: text('upstream_id').primaryKey(),
  projectId: projectId(),
  /** The tokens, sealed; null when there are none. */
  sealed: text('sealed'),
  /** When the access token ends; null when the server did not say. */
  expiresAt: moment('expires_at'),
  /** What we are registered as, sealed: dynamic registration may give a secret. */
  client: text('client'),
  /** Where the metadata of the protected resource is, as its last challenge said. */
  metadataUrl: text('metadata_url'),
  /** Rises whenever the tokens change: whoever waits for a refresh sees by it that it is done. */
  version: integer('version').notNull().default(0),
  /** Somebody asks for new tokens until then; `asker` proves who. */
  askedUntil: moment('asked_until'),
  asker: integer('asker').notNull().default(0),
  updatedAt: updatedAt(),
})

/** A person who was sent to an authorization server. Taken out by the return, once. */
export const upstreamLogins = pgTable(
  'upstream_logins',
  {
    /** SHA-256 of the state, hex. The state itself is stored nowhere. */
    stateHash: text('state_hash').primaryKey(),
    upstreamId: text('upstream_id').notNull(),
    projectId: projectId(),
    /** The configuration that it was started with: a changed one ends it. */
    configVersion: integer('config_version').notNull(),
    /** PKCE verifier and what was found out about the authorization server, sealed. */
    sealed: text('sealed').notNull(),
    /** SHA-256 of the cookie of the browser that confirmed it, hex; null until one has. Only that browser may return. */
    browserHash: text('browser_hash'),
    startedBy: text('started_by').notNull(),
    expiresAt: moment('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    index('upstream_logins_upstream').on(t.upstreamId),
    index('upstream_logins_expiry').on(t.expiresAt),
  ],
)
