/** The only reader of the environment: one pure function gives one frozen configuration, or all its mistakes at once. */
import { join } from 'node:path'
import { z } from 'zod'
import { networksOf } from './core/client-address.ts'

/** Seconds and bytes in the names are the units. Every setting works when it is not set. */
export interface Config {
  /** Where to listen. @default 127.0.0.1 */
  host: string
  /** @default 4000; 0 takes a free port */
  port: number
  /** What this process does. @default all */
  role: 'all' | 'api' | 'worker'
  /** NODE_ENV is `production`: no demo, no GraphiQL unless asked for, a secret key is required. @default false */
  production: boolean
  /** PostgreSQL, 14 or newer. @default null: the embedded database */
  databaseUrl: string | null
  /** Connections to PostgreSQL, beside one that listens; a fifth of them is for leases and outcomes alone. @default 20 */
  databasePool: number
  /** Where the embedded database and the generated key live. @default .gatehouse */
  dataDir: string
  /** Moves the fan-out of events to Redis. @default null */
  redisUrl: string | null
  /** 32 bytes, base64 or hex, that seal secrets. @default null: generated in the data directory, not in production */
  secretKey: Buffer | null
  /** For the change of keys only. */
  newSecretKey: Buffer | null
  /** The operator's API key at the first start. @default null: generated and printed once */
  adminKey: string | null
  /** The demo project with its own small upstream. @default true outside production */
  demo: boolean
  /** GraphiQL at /graphql for browsers. @default true outside production */
  graphiql: boolean
  /** Origins that may call from a browser. @default none */
  corsOrigins: string[]
  /** Allow tools to reach private, loopback and link-local addresses. For development only. @default false */
  egressAllowPrivate: boolean
  /** `host:port` pairs that tools may reach although the address is private. @default none */
  egressAllow: string[]
  /** Generations worked on at once. @default 64 */
  workerSlots: number
  /** Approved and recovered calls outside generations that this process runs at once. @default 64 */
  callSlots: number
  /** How long a crashed worker's generations wait to be taken over, in milliseconds. @default 15000 */
  leaseMs: number
  /**
   * After SIGTERM: how long /readyz answers 503 while requests are still served, so that balancers send elsewhere, in
   * milliseconds. @default 5000 in production, else 0
   */
  drainMs: number
  /** Then: how long what was begun may take to end, in milliseconds. @default 8000 */
  graceMs: number
  /** Largest answer read from an http tool, in bytes. @default 1048576 */
  maxResponseBytes: number
  /** Time for one tool call, in milliseconds. @default 60000 */
  toolTimeoutMs: number
  /** Tools, agents, keys and so on that one project may hold, of each. @default 10000 */
  maxRowsPerProject: number
  /** Streams and sockets that one key has open at once, on one replica. @default 1000 */
  maxStreamsPerKey: number
  /** The same of all keys of a project. @default 5000 */
  maxStreamsPerProject: number
  /** Where the bytes of files are; replicas share it. @default `blobs` in dataDir */
  blobDir: string
  /** The largest file, in bytes. @default 26214400 (25 MiB) */
  maxFileBytes: number
  /** The bytes of all files of one project together. @default 10737418240 (10 GiB) */
  maxProjectFileBytes: number
  /** Media types of files that are taken. @default pictures, sound, film, plain text, PDF, JSON, ZIP, office documents */
  fileTypes: string[]
  /** Requests per minute for one key that has no limit of its own, on all replicas together. @default 6000 */
  requestsPerMinute: number
  /** Cost of GraphQL operations per minute for one key, on all replicas together. @default 300000 */
  costPerMinute: number
  /** Requests per minute of one address without a valid key, on one replica. @default 600 */
  anonymousPerMinute: number
  /** Addresses and networks (CIDR) of proxies whose X-Forwarded-For is believed. @default none */
  trustedProxies: string[]
  /** Connections that are open at once; more are closed as they come. @default 20000 */
  maxConnections: number
  /** The largest answer of one GraphQL operation or one message of a socket, in bytes. @default 8388608 (8 MiB) */
  maxAnswerBytes: number
  /** Where /metrics is served instead of the usual address, `host:port`. @default null: at the usual address */
  metricsListen: { host: string; port: number } | null
  /** What /metrics wants as a bearer token. @default null: nothing */
  metricsToken: string | null
  /** How the outside reaches this server: the base of the addresses that tokens are issued for. @default where it listens */
  publicUrl: string | null
  /** Names in the Host header that are served beside this machine's own and addresses. @default none: that of publicUrl */
  allowedHosts: string[]
  /** The identity provider whose tokens are accepted beside API keys. @default none */
  oidc: OidcConfig | null
  /** `provider/model` for agents that name none. @default null */
  defaultModel: string | null
  models: { openai: ModelKey; anthropic: ModelKey; google: ModelKey; compatible: ModelKey }
  /** @default info */
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent'
}

/** See OidcSettings of domain/access. */
export interface OidcConfig {
  issuer: string
  audiences: string[]
  jwksUrl: string | null
  projectClaim: string
  roleClaim: string
}

export interface ModelKey {
  apiKey: string | null
  baseUrl: string | null
}

/** All mistakes of an environment at once. Names the variables, never their values. */
export class ConfigError extends Error {
  constructor(mistakes: string[]) {
    super(
      `The configuration has ${mistakes.length} mistake${mistakes.length > 1 ? 's' : ''}:\n- ${mistakes.join('\n- ')}`,
    )
    this.name = 'ConfigError'
  }
}

type Environment = Record<string, string | undefined>

const flag = z.enum(['true', 'false', '1', '0']).transform((value) => value === 'true' || value === '1')
const url = (protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL beginning with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  })
const number = (min: number, max: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(min).max(max))
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean),
)
const listenAddress = z.string().transform((value, at) => {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(value)
  if (found && Number(found[3]) <= 65_535) return { host: (found[1] ?? found[2])!, port: Number(found[3]) }
  at.addIssue({ code: 'custom', message: 'must be host:port, such as 127.0.0.1:9464' })
  return z.NEVER
})
const key32 = z.string().transform((value, at) => {
  const bytes = /^[0-9a-fA-F]{64}$/.test(value) ? Buffer.from(value, 'hex') : Buffer.from(value, 'base64')
  if (bytes.length === 32) return bytes
  at.addIssue({ code: 'custom', message: 'must be 32 bytes in base64 or hex (try: openssl rand -base64 32)' })
  return z.NEVER
})

const shapes = {
  GATEHOUSE_HOST: z.string().min(1),
  GATEHOUSE_PORT: number(0, 65535),
  GATEHOUSE_ROLE: z.enum(['all', 'api', 'worker']),
  DATABASE_URL: url(['postgres:', 'postgresql:']),
  GATEHOUSE_DATABASE_POOL: number(3, 500),
  GATEHOUSE_DATA_DIR: z.string().min(1),
  REDIS_URL: url(['redis:', 'rediss:']),
  GATEHOUSE_SECRET_KEY: key32,
  GATEHOUSE_NEW_SECRET_KEY: key32,
  GATEHOUSE_ADMIN_KEY: z.string().regex(/^gh_.{40,150}$/, 'must be "gh_" and at least 40 characters'),
  GATEHOUSE_DEMO: flag,
  GATEHOUSE_GRAPHIQL: flag,
  GATEHOUSE_CORS_ORIGINS: list,
  GATEHOUSE_EGRESS_ALLOW_PRIVATE: flag,
  GATEHOUSE_EGRESS_ALLOW: list,
  GATEHOUSE_WORKER_SLOTS: number(1, 10_000),
  GATEHOUSE_CALL_SLOTS: number(1, 10_000),
  GATEHOUSE_LEASE_MS: number(500, 600_000),
  GATEHOUSE_DRAIN_MS: number(0, 300_000),
  GATEHOUSE_GRACE_MS: number(0, 600_000),
  GATEHOUSE_MAX_RESPONSE_BYTES: number(1024, 64 * 1024 * 1024),
  GATEHOUSE_TOOL_TIMEOUT_MS: number(1, 600_000),
  GATEHOUSE_MAX_ROWS_PER_PROJECT: number(1, 10_000_000),
  GATEHOUSE_REQUESTS_PER_MINUTE: number(1, 100_000_000),
  GATEHOUSE_MAX_STREAMS_PER_KEY: number(1, 1_000_000),
  GATEHOUSE_MAX_STREAMS_PER_PROJECT: number(1, 1_000_000),
  GATEHOUSE_COST_PER_MINUTE: number(1, 1_000_000_000),
  GATEHOUSE_ANONYMOUS_PER_MINUTE: number(1, 100_000_000),
  GATEHOUSE_TRUSTED_PROXIES: list.refine((names) => networksOf(names) !== null, {
    message: 'must be addresses or networks by comma, such as 10.0.0.0/8,fd00::/8',
  }),
  GATEHOUSE_MAX_CONNECTIONS: number(1, 1_000_000),
  GATEHOUSE_MAX_ANSWER_BYTES: number(64 * 1024, 1024 * 1024 * 1024),
  GATEHOUSE_METRICS_LISTEN: listenAddress,
  GATEHOUSE_METRICS_TOKEN: z
    .string()
    .regex(/^[\w.~+/=-]{16,500}$/, 'must have at least 16 characters of a token'),
  GATEHOUSE_BLOB_DIR: z.string().min(1),
  GATEHOUSE_MAX_FILE_BYTES: number(1, 5_000_000_000),
  GATEHOUSE_MAX_PROJECT_FILE_BYTES: number(1, Number.MAX_SAFE_INTEGER),
  GATEHOUSE_FILE_TYPES: list,
  GATEHOUSE_PUBLIC_URL: url(['http:', 'https:']).transform((value) => value.replace(/\/$/, '')),
  GATEHOUSE_ALLOWED_HOSTS: list,
  GATEHOUSE_OIDC_ISSUER: url(['http:', 'https:']),
  GATEHOUSE_OIDC_AUDIENCE: list,
  GATEHOUSE_OIDC_JWKS_URL: url(['http:', 'https:']),
  GATEHOUSE_OIDC_PROJECT_CLAIM: z.string().min(1),
  GATEHOUSE_OIDC_ROLE_CLAIM: z.string().min(1),
  GATEHOUSE_DEFAULT_MODEL: z.string().regex(/^[A-Za-z0-9_-]{1,64}\/.{1,200}$/, 'must be "provider/model"'),
  GATEHOUSE_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
  OPENAI_BASE_URL: url(['http:', 'https:']),
}

type Shapes = typeof shapes
type Settings = { [Name in keyof Shapes]?: z.output<Shapes[Name]> }

/** Reads the environment. Throws ConfigError naming every mistake. */
export function loadConfig(env: Environment = process.env): Config {
  const mistakes: string[] = []
  const set = readAll(env, mistakes)
  const production = env['NODE_ENV'] === 'production'
  if (production && !set.GATEHOUSE_SECRET_KEY)
    mistakes.push('GATEHOUSE_SECRET_KEY is required in production (try: openssl rand -base64 32)')
  if (set.GATEHOUSE_ROLE && set.GATEHOUSE_ROLE !== 'all' && !set.DATABASE_URL)
    mistakes.push('GATEHOUSE_ROLE other than "all" needs DATABASE_URL: the embedded database has one process')
  if (!set.GATEHOUSE_OIDC_ISSUER && oidcDetails.some((name) => set[name] !== undefined))
    mistakes.push(`${oidcDetails.join(', ')} need GATEHOUSE_OIDC_ISSUER`)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return Object.freeze({
    host: set.GATEHOUSE_HOST ?? '127.0.0.1',
    port: set.GATEHOUSE_PORT ?? 4000,
    role: set.GATEHOUSE_ROLE ?? 'all',
    production,
    databaseUrl: set.DATABASE_URL ?? null,
    databasePool: set.GATEHOUSE_DATABASE_POOL ?? 20,
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
    maxRowsPerProject: set.GATEHOUSE_MAX_ROWS_PER_PROJECT ?? 10_000,
    requestsPerMinute: set.GATEHOUSE_REQUESTS_PER_MINUTE ?? 6000,
    maxStreamsPerKey: set.GATEHOUSE_MAX_STREAMS_PER_KEY ?? 1000,
    maxStreamsPerProject: set.GATEHOUSE_MAX_STREAMS_PER_PROJECT ?? 5000,
    costPerMinute: set.GATEHOUSE_COST_PER_MINUTE ?? 300_000,
    anonymousPerMinute: set.GATEHOUSE_ANONYMOUS_PER_MINUTE ?? 600,
    trustedProxies: set.GATEHOUSE_TRUSTED_PROXIES ?? [],
    maxConnections: set.GATEHOUSE_MAX_CONNECTIONS ?? 20_000,
    maxAnswerBytes: set.GATEHOUSE_MAX_ANSWER_BYTES ?? 8 * 1024 * 1024,
    metricsListen: set.GATEHOUSE_METRICS_LISTEN ?? null,
    metricsToken: set.GATEHOUSE_METRICS_TOKEN ?? null,
    blobDir: set.GATEHOUSE_BLOB_DIR ?? join(set.GATEHOUSE_DATA_DIR ?? '.gatehouse', 'blobs'),
    maxFileBytes: set.GATEHOUSE_MAX_FILE_BYTES ?? 25 * 1024 * 1024,
    maxProjectFileBytes: set.GATEHOUSE_MAX_PROJECT_FILE_BYTES ?? 10 * 1024 ** 3,
    fileTypes: set.GATEHOUSE_FILE_TYPES ?? usualFileTypes,
    publicUrl: set.GATEHOUSE_PUBLIC_URL ?? null,
    allowedHosts: set.GATEHOUSE_ALLOWED_HOSTS ?? [],
    oidc: oidcOf(set),
    defaultModel: set.GATEHOUSE_DEFAULT_MODEL ?? null,
    models: modelsOf(env, set),
    logLevel: set.GATEHOUSE_LOG_LEVEL ?? 'info',
  })
}

function readAll(env: Environment, mistakes: string[]): Settings {
  const settings: Record<string, unknown> = {}
  for (const [name, shape] of Object.entries(shapes)) {
    const value = env[name]
    if (value === undefined || value === '') continue
    const result = shape.safeParse(value)
    if (result.success) settings[name] = result.data
    else mistakes.push(`${name} ${result.error.issues.map((issue) => issue.message).join(', ')}`)
  }
  const known = new Set(Object.keys(shapes))
  for (const name of Object.keys(env))
    if (name.startsWith('GATEHOUSE_') && !known.has(name)) mistakes.push(`${name} is not a setting`)
  return settings as Settings
}

/** No HTML and no scripts: nothing that a browser would run when it is fetched from here. */
const usualFileTypes = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'audio/*',
  'video/*',
  'text/plain',
  'text/csv',
  'text/markdown',
  'application/pdf',
  'application/json',
  'application/zip',
  'application/octet-stream',
  'application/vnd.*',
]

const oidcDetails = [
  'GATEHOUSE_OIDC_AUDIENCE',
  'GATEHOUSE_OIDC_JWKS_URL',
  'GATEHOUSE_OIDC_PROJECT_CLAIM',
  'GATEHOUSE_OIDC_ROLE_CLAIM',
] as const

function oidcOf(set: Settings): OidcConfig | null {
  const issuer = set.GATEHOUSE_OIDC_ISSUER
  if (!issuer) return null
  return {
    issuer,
    audiences: set.GATEHOUSE_OIDC_AUDIENCE ?? [],
    jwksUrl: set.GATEHOUSE_OIDC_JWKS_URL ?? null,
    projectClaim: set.GATEHOUSE_OIDC_PROJECT_CLAIM ?? 'gatehouse_project',
    roleClaim: set.GATEHOUSE_OIDC_ROLE_CLAIM ?? 'gatehouse_role',
  }
}

/** With a base URL the OpenAI key is for that server, which speaks the OpenAI-compatible wire. */
function modelsOf(env: Environment, set: Settings): Config['models'] {
  const key = (name: string) => env[name] || null
  const baseUrl = set.OPENAI_BASE_URL ?? null
  return {
    openai: { apiKey: baseUrl ? null : key('OPENAI_API_KEY'), baseUrl: null },
    anthropic: { apiKey: key('ANTHROPIC_API_KEY'), baseUrl: null },
    google: { apiKey: key('GOOGLE_GENERATIVE_AI_API_KEY'), baseUrl: null },
    compatible: { apiKey: baseUrl ? key('OPENAI_API_KEY') : null, baseUrl },
  }
}
