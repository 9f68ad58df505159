/** Projects (the tenants), their API keys, subjects, sessions, idempotency keys, secrets, rate limits and pauses. */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  doublePrecision,
} from 'drizzle-orm/pg-core'
import { createdAt, jsonb, moment, projectId, updatedAt } from './columns.ts'

export const projects = pgTable('projects', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  /** Whether a change of a gate must be confirmed by a second person. */
  gatesNeedSecond: boolean('gates_need_second').notNull().default(false),
  /** How long a run that a person started may still act after the person's token has expired, in seconds. */
  runGraceSeconds: integer('run_grace_seconds').notNull().default(0),
  createdAt: createdAt(),
})

export const apiKeys = pgTable(
  'api_keys',
  {
    id: text('id').primaryKey(),
    /** The project that the key belongs to and acts in by default. */
    projectId: projectId().references(() => projects.id),
    name: text('name').notNull(),
    /** SHA-256 of the secret, hex. The secret itself is never stored. */
    hash: text('hash').notNull(),
    /** The first characters of the secret, to tell keys apart in a list. */
    prefix: text('prefix').notNull(),
    role: text('role'),
    policy: jsonb('policy').notNull(),
    /** Null: the policy was written before the action generations:ReachOthers existed. */
    policyVersion: integer('policy_version'),
    /** An operator's key: its policy applies in every project. */
    installation: boolean('installation').notNull().default(false),
    /** The one agent to which the key is bound; null: all of the project. */
    agentId: text('agent_id'),
    /** False for a key of a program: it may not decide approvals or gate changes. */
    votes: boolean('votes').notNull().default(true),
    /** Of an invitation that nobody has accepted: when it ends. Until it is accepted nobody has the secret. */
    invitedUntil: moment('invited_until'),
    /** Codes of its invitation that did not count, or are being compared. */
    invitationTries: integer('invitation_tries').notNull().default(0),
    /** The person who joined with an account of the identity provider; null: whoever has the secret uses the key. */
    joinedBy: text('joined_by'),
    /** Issuer and subject of that account, hashed: a sign-in finds its keys by this. */
    account: text('account'),
    /** That person, when the key is not counted as a key of its inviter: see personsOf. */
    person: text('person'),
    createdBy: text('created_by'),
    createdAt: createdAt(),
    expiresAt: moment('expires_at'),
    revokedAt: moment('revoked_at'),
  },
  (t) => [
    uniqueIndex('api_keys_hash').on(t.hash),
    index('api_keys_list').on(t.projectId, t.createdAt, t.id),
    index('api_keys_made_by').on(t.createdBy),
    index('api_keys_account').on(t.account),
    index('api_keys_person').on(t.person),
  ],
)

/** When keys were last used. Not a column of the key: whoever acts with a key locks its row. */
export const keyUses = pgTable('key_uses', {
  keyId: text('key_id').primaryKey(),
  usedAt: moment('used_at').notNull(),
})

/** People and programs that an identity provider authenticated: one row for each that has sent a request. */
export const subjects = pgTable('subjects', {
  /** Derived from issuer, subject and project, so that every replica computes the same id. */
  id: text('id').primaryKey(),
  projectId: projectId().references(() => projects.id),
  issuer: text('issuer').notNull(),
  subject: text('subject').notNull(),
  name: text('name').notNull(),
  /** The role in its newest token. A run keeps the role of the token that started it. */
  role: text('role').notNull(),
  /** When its last token expires. It grants nothing: see `requester` of generations and tool calls. */
  expiresAt: moment('expires_at').notNull(),
  createdAt: createdAt(),
})

/** Signed-in browsers: one row for each session, deleted when it is ended. */
export const sessions = pgTable(
  'sessions',
  {
    id: text('id').primaryKey(),
    projectId: projectId().references(() => projects.id),
    /** SHA-256 of the token in the cookie, hex. The token itself is never stored. */
    hash: text('hash').notNull(),
    /** The key that signed in, or the subject of an identity provider. */
    principalId: text('principal_id').notNull(),
    /** How it signed in: KEY, OIDC or LINK. */
    method: text('method').notNull(),
    /** The role in the token of the identity provider; null for a key, whose row has its rights. */
    role: text('role'),
    remoteAddress: text('remote_address'),
    userAgent: text('user_agent'),
    createdAt: createdAt(),
    /** When it was last used, to within some minutes. */
    usedAt: moment('used_at').notNull().defaultNow(),
    /** When it ends unless it is used before. */
    expiresAt: moment('expires_at').notNull(),
    /** When it ends even if it is used. */
    endsAt: moment('ends_at').notNull(),
  },
  (t) => [
    uniqueIndex('sessions_hash').on(t.hash),
    index('sessions_list').on(t.projectId, t.createdAt, t.id),
    index('sessions_of').on(t.principalId, t.usedAt),
    index('sessions_expiry').on(t.expiresAt),
  ],
)

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    projectId: projectId(),
    principalId: text('principal_id').notNull(),
    operation: text('operation').notNull(),
    key: text('key').notNull(),
    /** Hash of the whole request: the same key with another request is a conflict. */
    requestHash: text('request_hash').notNull(),
    /** The id of the object that the first request created. */
    resultId: text('result_id').notNull(),
    expiresAt: moment('expires_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.projectId, t.principalId, t.operation, t.key] }),
    index('idempotency_keys_expiry').on(t.expiresAt),
  ],
)

/** One row for the whole installation. */
export const installation = pgTable('installation', {
  id: text('id').primaryKey().default('this'),
  /** Added to transaction ids so that the order of events survives a move to another database cluster. */
  commitShift: text('commit_shift')
    .notNull()
    .default(sql`'0'`),
  /** A random id of this event log, part of every cursor; null until the first position was assigned. */
  incarnation: text('incarnation'),
  /** The incarnations before this one, oldest first, each with the newest position that it has kept. */
  earlier: jsonb('earlier')
    .$type<{ name: string; newest: number }[]>()
    .notNull()
    .default(sql`'[]'`),
  /** The database cluster and timeline in which the event log was last opened. */
  fingerprint: text('fingerprint'),
  /**
   * The time of a migration. A program that knows this one may run on the schema, although newer ones were applied; null:
   * none but those that know all.
   */
  compatibleFrom: bigint('compatible_from', { mode: 'number' }),
  /** New positions are greater than this one, so that no position is used twice after a restore from a backup. */
  positionFloor: bigint('position_floor', { mode: 'number' }).notNull().default(0),
})

/** Rate limits, and the token buckets that replicas share. */
export const rateLimits = pgTable(
  'rate_limits',
  {
    projectId: projectId(),
    /** PROJECT KEY AGENT TOOL. */
    scope: text('scope').notNull(),
    /** The id of the project, key, agent or tool. */
    targetId: text('target_id').notNull(),
    perMinute: integer('per_minute').notNull(),
    /** How many requests may come at once. */
    burst: integer('burst').notNull(),
    updatedAt: updatedAt(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.scope, t.targetId] })],
)

/** Unlogged (see the migration): after a crash it may be empty, which refills every bucket. */
export const rateBuckets = pgTable('rate_buckets', {
  name: text('name').primaryKey(),
  tokens: doublePrecision('tokens').notNull(),
  /** The tokens that the last take got. */
  granted: doublePrecision('granted').notNull(),
  at: moment('at').notNull(),
  /** When it is full again, as one that has no row is. The release before writes none. */
  fullAt: moment('full_at'),
})

/** Encrypted secret values. The API never returns them. */
export const secrets = pgTable(
  'secrets',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    name: text('name').notNull(),
    /** AES-256-GCM: version, nonce, tag and ciphertext, base64url, bound to project and name. */
    sealed: text('sealed').notNull(),
    /** The hosts that the value may be sent to; null: any, also for secrets saved before this column existed. */
    allowedHosts: jsonb('allowed_hosts'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [uniqueIndex('secrets_name').on(t.projectId, t.name)],
)

/** Addresses of the dashboard that were saved under a name. */
export const savedViews = pgTable(
  'saved_views',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The id of the principal that alone sees it; empty: everybody in the project does. */
    owner: text('owner').notNull(),
    name: text('name').notNull(),
    address: text('address').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    uniqueIndex('saved_views_name').on(t.projectId, t.owner, t.name),
    index('saved_views_list').on(t.projectId, t.createdAt, t.id),
  ],
)

/** Pauses: what was stopped by a person, and by whom it was let go on. */
export const pauses = pgTable(
  'pauses',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The id of the project, of one of its agents or of one of its tools. */
    target: text('target').notNull(),
    /** What it was called then. */
    targetName: text('target_name').notNull(),
    reason: text('reason'),
    pausedBy: text('paused_by').notNull(),
    createdAt: createdAt(),
    /** Null while it holds. */
    endedAt: moment('ended_at'),
    endedBy: text('ended_by'),
  },
  (t) => [
    // At most one holds for a target. Nearly always empty: what asks whether anything is paused reads this.
    uniqueIndex('pauses_open')
      .on(t.target)
      .where(sql`ended_at is null`),
    index('pauses_list').on(t.projectId, t.createdAt, t.id),
  ],
)
