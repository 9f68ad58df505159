/** The only reader of the environment: one pure function returns a frozen configuration, or throws all its mistakes. */
import { join } from 'node:path'
import { z } from 'zod'
import { readEnvironment, type Environment } from './config-environment.ts'
import {
  oidcConflicts,
  oidcOf,
  oidcShapes,
  type OidcConfig,
  s3Conflicts,
  s3Of,
  s3Shapes,
} from './config-oidc-s3.ts'
import {
  databaseUrl,
  flag,
  hostNames,
  hostPorts,
  key32,
  list,
  listenAddress,
  listenHost,
  number,
  oneOf,
  origin,
  redisUrl,
  schemaMistakes,
  schemaName,
  url,
} from './config-values.ts'
import { mailConflicts, mailOf, mailShapes } from './config-mail.ts'
import { networksOf } from './core/addresses.ts'
import { defaultFileTypes } from './core/content.ts'
import type { MailSettings } from './domain/egress/index.ts'
import type { S3Settings } from './store/blobs/s3/requests.ts'

/** The configuration. Every setting has a default. Times are in milliseconds (`…Ms`) and sizes in bytes (`…Bytes`). */
export interface Config {
  /** The address to listen on. @default 127.0.0.1 */
  host: string
  /** The port to listen on; 0 takes a free port. @default 4000 */
  port: number
  /** Whether the port is PORT, which hosting platforms set. */
  isPlatformPort: boolean
  /** Whether this process serves the APIs, runs the workers, or both. @default all */
  role: 'all' | 'api' | 'worker'
  /** NODE_ENV is `production`: no demo, no GraphiQL unless asked for, a secret key is required. @default false */
  production: boolean
  /** PostgreSQL, 14 or newer. @default null: the embedded database */
  databaseUrl: string | null
  /**
   * The same database without the pooler that databaseUrl leads to, for LISTEN, migrations and backups.
   * @default null: databaseUrl
   */
  directUrl: string | null
  /** The schema of the tables in the database of databaseUrl. @default public */
  databaseSchema: string
  /** Connections to PostgreSQL, beside one for LISTEN. A fifth is reserved for leases and outcomes. @default 20 */
  databasePool: number
  /** The directory of the embedded database and the generated key. @default .gatehouse */
  dataDir: string
  /** Redis for the fan-out of events and shared rate limits. @default null */
  redisUrl: string | null
  /** The master key, 32 bytes in base64 or hex. @default null: generated in dataDir; required in production */
  secretKey: Buffer | null
  /** The next master key, for the command rotate-key only. @default null */
  newSecretKey: Buffer | null
  /** The operator's API key, created at the first start. @default null: generated, and shown or kept */
  adminKey: string | null
  /** Creates a demo project with a local upstream. @default true outside production */
  demo: boolean
  /** Serves GraphiQL at /graphql to browsers. @default true outside production */
  graphiql: boolean
  /** Origins that may call from a browser. @default none */
  corsOrigins: string[]
  /** Allows outgoing requests to private, loopback and link-local addresses. For development only. @default false */
  egressAllowPrivate: boolean
  /** `host:port` pairs that outgoing requests may reach although their address is private. @default none */
  egressAllow: string[]
  /** The most generations that this process runs at once. @default 64 */
  workerSlots: number
  /** The most approved and recovered calls outside generations that this process runs at once. @default 64 */
  callSlots: number
  /** How long until another worker takes over the rows of a crashed one, in milliseconds. @default 15000 */
  leaseMs: number
  /**
   * After SIGTERM: how long /readyz returns 503 while requests are still served, so that load balancers stop sending
   * requests, in milliseconds. @default 5000 in production, else 0
   */
  drainMs: number
  /** After drainMs: how long running requests and work may take to end, in milliseconds. @default 8000 */
  graceMs: number
  /** The largest response of an http tool, in bytes. @default 1048576 */
  maxResponseBytes: number
  /** The time limit of a tool call unless the tool sets one, in milliseconds. @default 60000 */
  toolTimeoutMs: number
  /**
   * How long an equal request without an idempotency key joins the run of the first one, in milliseconds; 0: never.
   * @default 1800000
   */
  joinWindowMs: number
  /** The most tools, agents, keys and so on, of each kind, in a project. @default 10000 */
  maxRowsPerProject: number
  /** The most webhooks in a project. @default 100 */
  maxWebhooksPerProject: number
  /** The most callbacks in a project that are not finished. @default 1000 */
  maxCallbacksPerProject: number
  /** The time limit of one delivery of a webhook, in milliseconds. @default 15000 */
  webhookTimeoutMs: number
  /** The base URL of Slack's Web API. @default https://slack.com/api */
  slackApiUrl: string
  /** The server that takes mails, and the address that they are from. @default null: no e-mail is sent */
  mail: MailSettings | null
  /** The most open streams, sockets and held requests of one key on one replica. @default 1000 */
  maxStreamsPerKey: number
  /** The same of all keys of a project. @default 5000 */
  maxStreamsPerProject: number
  /** The directory of the bytes of files; all replicas share it, unless files are in a bucket. @default `blobs` in dataDir */
  blobDir: string
  /** The bucket of the bytes of files, with its credentials from the variables AWS_…. @default null: they are in blobDir */
  s3: S3Settings | null
  /** The largest file, in bytes. @default 26214400 (25 MiB) */
  maxFileBytes: number
  /** The bytes of all files of one project together. @default 10737418240 (10 GiB) */
  maxProjectFileBytes: number
  /** Accepted media types of files. @default images, audio, video, plain text, PDF, JSON, ZIP, office documents */
  fileTypes: string[]
  /** Requests per minute of a key without a limit of its own, on all replicas together. @default 6000 */
  requestsPerMinute: number
  /** Cost of GraphQL operations per minute of a key, on all replicas together. @default 300000 */
  costPerMinute: number
  /** Requests per minute without a valid key from one address, on one replica. @default 600 */
  anonymousPerMinute: number
  /** Addresses and networks (CIDR) of proxies whose X-Forwarded-For is trusted. @default none */
  trustedProxies: string[]
  /** The most open connections; further ones are closed at once. @default 20000 */
  maxConnections: number
  /** The most open connections of one address that is no trusted proxy. @default 5000 */
  maxConnectionsPerAddress: number
  /** The largest response of a GraphQL operation, or message of a subscription, in bytes. @default 8388608 (8 MiB) */
  maxAnswerBytes: number
  /** A separate address for /metrics, `host:port`. @default null: served with the APIs */
  metricsListen: { host: string; port: number } | null
  /** The bearer token that /metrics requires. @default null: none */
  metricsToken: string | null
  /** Whether audit entries are written to standard output, too. */
  auditLog: boolean
  /** The public URL of this server, the audience of its tokens. @default null: the address it listens on */
  publicUrl: string | null
  /** Accepted names in the Host header, beside localhost, IP addresses and the host of publicUrl. @default none */
  allowedHosts: string[]
  /** The identity provider whose tokens are accepted beside API keys. @default null */
  oidc: OidcConfig | null
  /** `provider/model` for agents without a model. @default null */
  defaultModel: string | null
  models: { openai: ModelKey; anthropic: ModelKey; google: ModelKey; compatible: ModelKey }
  /** @default info */
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent'
}

export interface ModelKey {
  apiKey: string | null
  baseUrl: string | null
}

/** Lists all mistakes of the environment. Contains the names of variables, never their values. */
export class ConfigError extends Error {
  constructor(mistakes: string[]) {
    super(
      `The configuration has ${mistakes.length} mistake${mistakes.length > 1 ? 's' : ''}:\n- ${mistakes.join('\n- ')}`,
    )
    this.name = 'ConfigError'
  }
}

const shapes = {
  GATEHOUSE_HOST: listenHost,
  GATEHOUSE_PORT: number(0, 65535),
  GATEHOUSE_ROLE: oneOf(['all', 'api', 'worker']),
  DATABASE_URL: databaseUrl,
  DIRECT_URL: databaseUrl,
  GATEHOUSE_DATABASE_SCHEMA: schemaName,
  GATEHOUSE_DATABASE_POOL: number(3, 500),
  GATEHOUSE_DATA_DIR: z.string().min(1),
  REDIS_URL: redisUrl,
  GATEHOUSE_SECRET_KEY: key32,
  GATEHOUSE_NEW_SECRET_KEY: key32,
  GATEHOUSE_ADMIN_KEY: z.string().regex(/^gh_.{40,150}$/, 'must be "gh_" and at least 40 characters'),
  GATEHOUSE_DEMO: flag,
  GATEHOUSE_GRAPHIQL: flag,
  GATEHOUSE_EGRESS_ALLOW_PRIVATE: flag,
  GATEHOUSE_EGRESS_ALLOW: hostPorts,
  GATEHOUSE_WORKER_SLOTS: number(1, 10_000),
  GATEHOUSE_CALL_SLOTS: number(1, 10_000),
  GATEHOUSE_LEASE_MS: number(500, 600_000),
  GATEHOUSE_DRAIN_MS: number(0, 300_000),
  GATEHOUSE_GRACE_MS: number(0, 600_000),
  GATEHOUSE_MAX_RESPONSE_BYTES: number(1024, 64 * 1024 * 1024),
  GATEHOUSE_TOOL_TIMEOUT_MS: number(1, 600_000),
  GATEHOUSE_JOIN_WINDOW_MS: number(0, 86_400_000),
  GATEHOUSE_MAX_ROWS_PER_PROJECT: number(1, 10_000_000),
  GATEHOUSE_MAX_WEBHOOKS_PER_PROJECT: number(1, 10_000),
  GATEHOUSE_MAX_CALLBACKS_PER_PROJECT: number(1, 100_000),
  GATEHOUSE_WEBHOOK_TIMEOUT_MS: number(100, 60_000),
  GATEHOUSE_SLACK_API_URL: url(['http:', 'https:']).transform((value) => value.replace(/\/$/, '')),
  ...mailShapes,
  GATEHOUSE_REQUESTS_PER_MINUTE: number(1, 100_000_000),
  GATEHOUSE_MAX_STREAMS_PER_KEY: number(1, 1_000_000),
  GATEHOUSE_MAX_STREAMS_PER_PROJECT: number(1, 1_000_000),
  GATEHOUSE_COST_PER_MINUTE: number(1, 1_000_000_000),
  GATEHOUSE_ANONYMOUS_PER_MINUTE: number(1, 100_000_000),
  GATEHOUSE_TRUSTED_PROXIES: list.refine((names) => networksOf(names) !== null, {
    message: 'must be addresses or networks separated by commas, such as 10.0.0.0/8,fd00::/8',
  }),
  GATEHOUSE_MAX_CONNECTIONS: number(1, 1_000_000),
  GATEHOUSE_MAX_CONNECTIONS_PER_ADDRESS: number(1, 1_000_000),
  GATEHOUSE_MAX_ANSWER_BYTES: number(64 * 1024, 1024 * 1024 * 1024),
  GATEHOUSE_AUDIT_LOG: flag,
  GATEHOUSE_METRICS_LISTEN: listenAddress,
  GATEHOUSE_METRICS_TOKEN: z
    .string()
    .regex(/^[\w.~+/=-]{16,500}$/, 'must have 16 to 500 characters: letters, digits and . _ ~ + / = -'),
  GATEHOUSE_BLOB_DIR: z.string().min(1),
  ...s3Shapes,
  GATEHOUSE_MAX_FILE_BYTES: number(1, 5_000_000_000),
  GATEHOUSE_MAX_PROJECT_FILE_BYTES: number(1, Number.MAX_SAFE_INTEGER),
  GATEHOUSE_FILE_TYPES: list,
  GATEHOUSE_PUBLIC_URL: origin,
  GATEHOUSE_CORS_ORIGINS: list.pipe(z.array(origin)),
  GATEHOUSE_ALLOWED_HOSTS: hostNames,
  ...oidcShapes,
  GATEHOUSE_DEFAULT_MODEL: z.string().regex(/^[A-Za-z0-9_-]{1,64}\/.{1,200}$/, 'must be "provider/model"'),
  GATEHOUSE_LOG_LEVEL: oneOf(['debug', 'info', 'warn', 'error', 'silent']),
  OPENAI_BASE_URL: url(['http:', 'https:']),
}

type Shapes = typeof shapes
type Settings = { [Name in keyof Shapes]?: z.output<Shapes[Name]> }

/** Reads the environment. Throws ConfigError with every mistake. */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const read = readEnvironment(environment, Object.keys(shapes))
  const { values: env, mistakes } = read
  const set = readAll(read, mistakes)
  const production = env['NODE_ENV'] === 'production'
  mistakes.push(...conflictsOf(set, production), ...s3Conflicts(set, env))
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return Object.freeze({
    host: set.GATEHOUSE_HOST ?? '127.0.0.1',
    port: set.GATEHOUSE_PORT ?? 4000,
    isPlatformPort: read.given.get('GATEHOUSE_PORT') === 'PORT',
    role: set.GATEHOUSE_ROLE ?? 'all',
    production,
    ...databaseOf(set),
    dataDir: set.GATEHOUSE_DATA_DIR ?? '.gatehouse',
    redisUrl: set.REDIS_URL ?? null,
    secretKey: set.GATEHOUSE_SECRET_KEY ?? null,
    newSecretKey: set.GATEHOUSE_NEW_SECRET_KEY ?? null,
    adminKey: set.GATEHOUSE_ADMIN_KEY ?? null,
    demo: set.GATEHOUSE_DEMO ?? !production,
    graphiql: set.GATEHOUSE_GRAPHIQL ?? !production,
    corsOrigins: set.GATEHOUSE_CORS_ORIGINS ?? [],
    egressAllowPrivate: set.GATEHOUSE_EGRESS_ALLOW_PRIVATE ?? false,
    egressAllow: set.GATEHOUSE_EGRESS_ALLOW ?? [],
    workerSlots: set.GATEHOUSE_WORKER_SLOTS ?? 64,
    callSlots: set.GATEHOUSE_CALL_SLOTS ?? 64,
    leaseMs: set.GATEHOUSE_LEASE_MS ?? 15_000,
    drainMs: set.GATEHOUSE_DRAIN_MS ?? (production ? 5000 : 0),
    graceMs: set.GATEHOUSE_GRACE_MS ?? 8000,
    maxResponseBytes: set.GATEHOUSE_MAX_RESPONSE_BYTES ?? 1024 * 1024,
    toolTimeoutMs: set.GATEHOUSE_TOOL_TIMEOUT_MS ?? 60_000,
    joinWindowMs: set.GATEHOUSE_JOIN_WINDOW_MS ?? 30 * 60_000,
    maxRowsPerProject: set.GATEHOUSE_MAX_ROWS_PER_PROJECT ?? 10_000,
    maxWebhooksPerProject: set.GATEHOUSE_MAX_WEBHOOKS_PER_PROJECT ?? 100,
    maxCallbacksPerProject: set.GATEHOUSE_MAX_CALLBACKS_PER_PROJECT ?? 1000,
    webhookTimeoutMs: set.GATEHOUSE_WEBHOOK_TIMEOUT_MS ?? 15_000,
    slackApiUrl: set.GATEHOUSE_SLACK_API_URL ?? 'https://slack.com/api',
    mail: mailOf(set),
    requestsPerMinute: set.GATEHOUSE_REQUESTS_PER_MINUTE ?? 6000,
    maxStreamsPerKey: set.GATEHOUSE_MAX_STREAMS_PER_KEY ?? 1000,
    maxStreamsPerProject: set.GATEHOUSE_MAX_STREAMS_PER_PROJECT ?? 5000,
    costPerMinute: set.GATEHOUSE_COST_PER_MINUTE ?? 300_000,
    anonymousPerMinute: set.GATEHOUSE_ANONYMOUS_PER_MINUTE ?? 600,
    trustedProxies: set.GATEHOUSE_TRUSTED_PROXIES ?? [],
    maxConnections: set.GATEHOUSE_MAX_CONNECTIONS ?? 20_000,
    maxConnectionsPerAddress: set.GATEHOUSE_MAX_CONNECTIONS_PER_ADDRESS ?? 5000,
    maxAnswerBytes: set.GATEHOUSE_MAX_ANSWER_BYTES ?? 8 * 1024 * 1024,
    metricsListen: set.GATEHOUSE_METRICS_LISTEN ?? null,
    metricsToken: set.GATEHOUSE_METRICS_TOKEN ?? null,
    auditLog: set.GATEHOUSE_AUDIT_LOG ?? false,
    ...filesOf(env, set),
    publicUrl: set.GATEHOUSE_PUBLIC_URL ?? null,
    allowedHosts: set.GATEHOUSE_ALLOWED_HOSTS ?? [],
    oidc: oidcOf(set),
    defaultModel: set.GATEHOUSE_DEFAULT_MODEL ?? null,
    models: modelsOf(env, set),
    logLevel: set.GATEHOUSE_LOG_LEVEL ?? 'info',
  })
}

const databaseOf = (
  set: Settings,
): Pick<Config, 'databaseUrl' | 'directUrl' | 'databaseSchema' | 'databasePool'> => ({
  databaseUrl: set.DATABASE_URL ?? null,
  directUrl: set.DIRECT_URL ?? null,
  databaseSchema: set.GATEHOUSE_DATABASE_SCHEMA ?? 'public',
  databasePool: set.GATEHOUSE_DATABASE_POOL ?? 20,
})

/** Settings that require others which are missing. */
function conflictsOf(set: Settings, production: boolean): string[] {
  const mistakes: string[] = []
  if (production && !set.GATEHOUSE_SECRET_KEY)
    mistakes.push('GATEHOUSE_SECRET_KEY is required in production (try: openssl rand -base64 32)')
  if (set.GATEHOUSE_ROLE && set.GATEHOUSE_ROLE !== 'all' && !set.DATABASE_URL)
    mistakes.push(
      'GATEHOUSE_ROLE other than "all" requires DATABASE_URL: the embedded database allows one process only',
    )
  for (const name of ['DIRECT_URL', 'GATEHOUSE_DATABASE_SCHEMA'] as const)
    if (set[name] && !set.DATABASE_URL) mistakes.push(`${name} requires DATABASE_URL`)
  mistakes.push(...schemaMistakes(set, set.GATEHOUSE_DATABASE_SCHEMA))
  mistakes.push(...oidcConflicts(set), ...mailConflicts(set))
  return mistakes
}

function readAll({ values, given }: Environment, mistakes: string[]): Settings {
  const settings: Record<string, unknown> = {}
  for (const [name, shape] of Object.entries(shapes)) {
    const value = values[name]
    if (value === undefined || value === '') continue
    const result = shape.safeParse(value)
    if (result.success) settings[name] = result.data
    else
      mistakes.push(
        `${given.get(name) ?? name} ${result.error.issues.map((issue) => issue.message).join(', ')}`,
      )
  }
  return settings as Settings
}

type FileSettings = 'blobDir' | 's3' | 'maxFileBytes' | 'maxProjectFileBytes' | 'fileTypes'

function filesOf(env: NodeJS.ProcessEnv, set: Settings): Pick<Config, FileSettings> {
  return {
    blobDir: set.GATEHOUSE_BLOB_DIR ?? join(set.GATEHOUSE_DATA_DIR ?? '.gatehouse', 'blobs'),
    s3: s3Of(set, env),
    maxFileBytes: set.GATEHOUSE_MAX_FILE_BYTES ?? 25 * 1024 * 1024,
    maxProjectFileBytes: set.GATEHOUSE_MAX_PROJECT_FILE_BYTES ?? 10 * 1024 ** 3,
    fileTypes: set.GATEHOUSE_FILE_TYPES ?? defaultFileTypes,
  }
}

/** With OPENAI_BASE_URL, OPENAI_API_KEY is the key of that OpenAI-compatible server. */
function modelsOf(env: NodeJS.ProcessEnv, set: Settings): Config['models'] {
  const key = (name: string) => env[name] || null
  const baseUrl = set.OPENAI_BASE_URL ?? null
  return {
    openai: { apiKey: baseUrl ? null : key('OPENAI_API_KEY'), baseUrl: null },
    anthropic: { apiKey: key('ANTHROPIC_API_KEY'), baseUrl: null },
    google: { apiKey: key('GOOGLE_GENERATIVE_AI_API_KEY'), baseUrl: null },
    compatible: { apiKey: baseUrl ? key('OPENAI_API_KEY') : null, baseUrl },
  }
}
