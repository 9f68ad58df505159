/** Tenants, their API keys and the memory of idempotent requests. */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId } from './columns.ts'

export const projects = pgTable('projects', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  /** A change of a gate waits until another person confirms it. */
  gatesNeedSecond: boolean('gates_need_second').notNull().default(false),
  /** So long after the end of its token a run of a person may still act, in seconds. */
  runGraceSeconds: integer('run_grace_seconds').notNull().default(0),
  createdAt: createdAt(),
})

export const apiKeys = pgTable(
  'api_keys',
  {
    id: text('id').primaryKey(),
    /** The project the key belongs to and acts in by default. */
    projectId: projectId().references(() => projects.id),
    name: text('name').notNull(),
    /** SHA-256 of the secret, hex. The secret itself is stored nowhere. */
    hash: text('hash').notNull(),
    /** The first characters of the secret, to tell keys apart in a list. */
    prefix: text('prefix').notNull(),
    role: text('role'),
    policy: jsonb('policy').notNull(),
    /** An operator's key: its policy holds in every project. */
    installation: boolean('installation').notNull().default(false),
    /** The one agent whose bridge it opens; null for all of the project. */
    agentId: text('agent_id'),
    /** False for a program: it never decides about approvals or changes of gates. */
    votes: boolean('votes').notNull().default(true),
    createdBy: text('created_by'),
    createdAt: createdAt(),
    expiresAt: moment('expires_at'),
    revokedAt: moment('revoked_at'),
  },
  (t) => [
    uniqueIndex('api_keys_hash').on(t.hash),
    index('api_keys_list').on(t.projectId, t.createdAt, t.id),
    index('api_keys_made_by').on(t.createdBy),
  ],
)

/** People and programs that an identity provider vouches for: a row for each that has been here. */
export const subjects = pgTable('subjects', {
  /** Made of issuer, subject and project, so that every replica finds the same one. */
  id: text('id').primaryKey(),
  projectId: projectId().references(() => projects.id),
  issuer: text('issuer').notNull(),
  subject: text('subject').notNull(),
  name: text('name').notNull(),
  /** As its newest token says. What was started keeps the role of the token that started it. */
  role: text('role').notNull(),
  /** When the longest of its tokens ends. Nothing acts by it: see `requester` of generations and tool calls. */
  expiresAt: moment('expires_at').notNull(),
  createdAt: createdAt(),
})

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    projectId: projectId(),
    principalId: text('principal_id').notNull(),
    operation: text('operation').notNull(),
    key: text('key').notNull(),
    /** Hash of the whole request: the same key with another request is a conflict. */
    requestHash: text('request_hash').notNull(),
    /** The id of what the first request made. */
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
  /** A random name of this log, which every cursor carries; null until positions were given out for the first time. */
  incarnation: text('incarnation'),
  /** The database cluster and timeline in which the log was opened last. */
  fingerprint: text('fingerprint'),
  /** New positions are greater than this one: nothing is ever given a position that a lost future may have used. */
  positionFloor: bigint('position_floor', { mode: 'number' }).notNull().default(0),
})
