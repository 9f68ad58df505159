/** The composition root: opens the services, workers and servers of a process, and closes them in reverse order. */
import { setTimeout as pause } from 'node:timers/promises'
import { makeActions } from './api/graphql/transport/actions.ts'
import type { Sockets } from './api/graphql/transport/sockets.ts'
import { linkTo } from './api/http/sign-in.ts'
import { startAuditLog } from './audit-log.ts'
import { bucketStore, openPubSub, openBlobs } from './between-replicas.ts'
import type { Config } from './config.ts'
import { systemClock, type Clock } from './core/time.ts'
import { createPool } from './core/pool.ts'
import type { Log } from './core/log.ts'
import { openFolders, addressOf, masterKeyOf, version } from './paths.ts'
import { answerLocalKeys } from './local-key.ts'
import { createLog } from './logging.ts'
import { createMeters } from './meters.ts'
import { openServers, type ServerParts } from './servers.ts'
import { prepareFirstStart } from './first-start.ts'
import {
  createRateLimiter,
  createRevocationWatcher,
  type Ctx,
  type Services,
  type Principal,
  type TourParts,
} from './domain/access/index.ts'
import { createLink, createProvider } from './domain/sign-in/index.ts'
import { createEgress, createMailer, type EgressOptions } from './domain/egress/index.ts'
import { type EnvironmentProvider, type Models, createModels } from './domain/models/index.ts'
import { startWorkers, type Workers } from './workers.ts'
import { seedDemo } from './demo/seed.ts'
import { executionsAt, startDemoUpstream } from './demo/upstream.ts'
import type { Supervisor } from './supervisor.ts'
import { connect, type DatabaseAddress } from './store/db/connect.ts'
import { type Connection, followClock } from './store/db/connection.ts'
import { migrate } from './store/db/migrate.ts'
import { newestMigration } from './store/db/migrations.ts'
import { createHeartbeat } from './store/work/leases.ts'
import { startSchedule } from './store/work/schedule.ts'
import { createSlots } from './store/work/worker.ts'
import { startBroadcaster } from './store/events/broadcaster.ts'
import { createSharedBuckets } from './store/rates/shared-buckets.ts'

/** What tests replace. */
export interface AppParts extends ServerParts {
  database?: DatabaseAddress
  clock?: Clock
  log?: Log
  egress?: EgressOptions
  /** Receives the lines of the audit log; else standard output does. */
  writeAudit?: (line: string) => void
  /** Makes the operator's key at the first start, and keeps it before it is valid; else it is only shown. */
  keepAdminKey?: () => Promise<string>
  /** The process that starts this one again when the tour has killed it. */
  supervisor?: Pick<Supervisor, 'upstreamUrl' | 'kill'>
}

export interface App {
  /** The URL on which it listens. */
  url: string
  /** The URL of a separate address for /metrics; null: served with the APIs. */
  metricsUrl: string | null
  services: Services
  models: Models
  /** The secret of the operator's key when this start generated it. */
  adminKey: string | null
  /** The demo, if there is one. */
  demo: TourParts | null
  /** A URL that signs a browser on this machine in, once; null without the demo, and in production. */
  signInUrl: string | null
  /** A context with this principal, for calls from inside the process. */
  ctxOf(principal: Principal): Ctx
  sockets: Sockets | null
  workers: Workers | null
  /**
   * Drains and closes everything; idempotent. Workers start nothing new and /readyz returns 503 from now on; after
   * `drainMs` of the configuration no more requests are accepted, running ones begin no more calls, and they and the work
   * have `graceMs` to end.
   */
  stop(graceMs?: number): Promise<void>
}

/** Starts the server. When a step fails, everything that was opened before is closed again. */
export async function createApp(config: Config, parts: AppParts = {}): Promise<App> {
  const closers: Closers = []
  const closeAll = async () => {
    for (const close of closers.toReversed()) await close().catch(() => {})
  }
  try {
    return await build(config, parts, closers)
  } catch (error) {
    await closeAll()
    throw error
  }
}

type Closers = (() => Promise<unknown>)[]

async function build(config: Config, parts: AppParts, closers: Closers): Promise<App> {
  // Without a publicUrl it is set when the server listens; it is read only afterwards.
  const address = { url: config.publicUrl ?? '' }
  const { services, models, upstreamUrl, registry } = await openServices(config, parts, closers, address)
  const ctxOf = (principal: Principal): Ctx => ({
    ...services,
    principal,
    requestId: 'internal',
    remoteAddress: null,
  })
  const first = await prepareFirstStart(services, config.adminKey, config.demo, parts.keepAdminKey)
  if (upstreamUrl && first.demo)
    services.tour = {
      ...(await seedDemo(ctxOf(first.demo), upstreamUrl)),
      effects: () => executionsAt(upstreamUrl),
      kill: parts.supervisor?.kill ?? null,
    }
  const signsIn = first.demo && config.demo && !config.production && config.role !== 'worker'
  const workers = openWorkers(config, services, models, closers)
  const state = { draining: false }
  const isDraining = () => state.draining
  const { server, sockets, mcp, metricsUrl } = await openServers(
    { config, services, models, workers, registry, address, closers, isDraining },
    parts,
  )
  return {
    url: server.url,
    metricsUrl,
    services,
    models,
    adminKey: first.secret,
    demo: services.tour,
    signInUrl: signsIn ? await signInUrl(ctxOf(first.demo!), server.url) : null,
    ctxOf,
    sockets,
    workers,
    stop: once(async (graceMs = config.graceMs) => {
      state.draining = true
      workers?.drain()
      await pause(config.drainMs)
      services.heartbeat.close()
      // Closed first, so that their clients connect to another replica while this one finishes its work.
      mcp?.close()
      await finishWork(services, graceMs, [sockets?.close(), workers?.stop(graceMs), server.close(graceMs)])
      for (const close of closers.toReversed())
        await close().catch((error: unknown) =>
          services.log.warn({ err: error }, 'a part of the server could not be closed'),
        )
    }),
  }
}

/** How long the link that a start prints waits for its browser, in milliseconds. */
const linkMs = 60 * 60 * 1000

async function signInUrl(ctx: Ctx, url: string): Promise<string> {
  return linkTo(url, (await createLink(ctx, { opens: 'here', lifetimeMs: linkMs })).code)
}

/**
 * Waits for the servers and workers to end, and at most `graceMs` for direct calls; then releases the remaining calls.
 */
async function finishWork(
  { heartbeat }: Services,
  graceMs: number,
  ending: readonly (Promise<void> | undefined)[],
): Promise<void> {
  const directCalls = heartbeat.of('tool_calls')
  const callsEnd = Promise.race([directCalls.idle(), pause(graceMs, undefined, { ref: false })])
  await Promise.all([...ending, callsEnd])
  await directCalls.releaseAll().catch(() => {})
}

function openWorkers(
  { role, workerSlots, callSlots }: Config,
  services: Services,
  models: Models,
  closers: Closers,
): Workers | null {
  if (role === 'api') return null
  const workers = startWorkers(services, models, { slots: workerSlots, callSlots })
  closers.push(() => workers.stop(0))
  return workers
}

/** Opens everything that operations use. */
async function openServices(config: Config, parts: AppParts, closers: Closers, address: { url: string }) {
  const log = parts.log ?? createLog(config.logLevel)
  const store = await openStore(config, parts, log, closers)
  const outgoing = await openOutgoing(config, parts, log, closers)
  const { connection, pubsub, schedule, broadcaster, clock } = store
  const { db, leaseDb } = connection
  if (config.auditLog) {
    const auditLog = startAuditLog(
      { db, log },
      parts.writeAudit ?? ((line) => void process.stdout.write(line)),
    )
    closers.push(() => auditLog.close())
  }
  const heartbeat = createHeartbeat({
    db: leaseDb,
    leaseMs: config.leaseMs,
    onError: (error) => log.warn({ err: error }, 'leases could not be renewed; retrying'),
  })
  closers.push(async () => heartbeat.stop())
  const slots = createSlots()
  const shared = { db, leaseDb, heartbeat, slots, pubsub, clock, log }
  const revocations = createRevocationWatcher({ ...shared, limits: limitsOf(config) })
  closers.push(async () => revocations.close())
  const buckets = createSharedBuckets(shared.clock, log, await bucketStore(config, connection))
  const rates = createRateLimiter(shared, buckets, config)
  closers.push(() => rates.close())
  const { meters, registry } = createMeters()
  const services: Services = {
    ...shared,
    meters,
    health: connection.health,
    rates,
    revocations,
    broadcaster,
    schedule,
    egress: outgoing.egress,
    identity: config.oidc && createProvider(outgoing, config.oidc),
    mailer: config.mail && createMailer(config.mail),
    connections: outgoing.connections,
    blobs: await openBlobs(config, log, closers),
    publicUrl: () => address.url,
    masterKey: await masterKeyOf(config, parts.database?.kind === 'memory'),
    limits: limitsOf(config),
    release: { version: version(), schema: newestMigration() },
    tour: null,
    actions: makeActions(() => models),
  }
  const models: Models = createModels(services, {
    environment: environmentOf(config),
    defaultModel: config.defaultModel,
  })
  return { services, models, registry, upstreamUrl: outgoing.upstreamUrl }
}

/** Connects to the database and migrates it; opens pub/sub and the live streams over it. */
async function openStore(config: Config, parts: AppParts, log: Log, closers: Closers) {
  if (!parts.database) await openFolders(config, log)
  const connection = await connect(parts.database ?? addressOf(config), log)
  closers.push(() => connection.close())
  await migrate(connection, undefined, log)
  answerLocalKeys(connection)
  const pubsub = await openPubSub(config, connection, log)
  closers.push(() => pubsub.close())
  const schedule = startSchedule(connection.leaseDb, pubsub, connection)
  closers.push(async () => schedule.close())
  const broadcaster = startBroadcaster(connection.db, pubsub, { log, schedule })
  closers.push(async () => broadcaster.close())
  return {
    connection,
    pubsub,
    schedule,
    broadcaster,
    clock: parts.clock ?? (await openClock(connection, closers)),
  }
}

/** The clock that all replicas share. The embedded database has that of the process. */
async function openClock({ kind, leaseDb }: Connection, closers: Closers): Promise<Clock> {
  if (kind === 'pglite') return systemClock
  const clock = await followClock(leaseDb)
  closers.push(async () => clock.close())
  return clock
}

async function startUpstream(config: Config, closers: Closers): Promise<string> {
  const upstream = await startDemoUpstream(config)
  closers.push(() => upstream.close())
  return upstream.url
}

/** Opens what sends requests to other servers, and the demo upstream that one of them may be. */
async function openOutgoing(config: Config, parts: AppParts, log: Log, closers: Closers) {
  const upstreamUrl = config.demo
    ? (parts.supervisor?.upstreamUrl ?? (await startUpstream(config, closers)))
    : null
  const allowList = [...config.egressAllow, ...(upstreamUrl ? [new URL(upstreamUrl).host] : [])]
  const egress = createEgress(
    { allowPrivate: config.egressAllowPrivate, allowList },
    {
      onUnasked: (origin) =>
        log.warn({ origin }, 'a server sent bytes that nobody had asked for; the connection was closed'),
      ...parts.egress,
    },
  )
  closers.push(() => egress.close())
  const connections = createPool({ max: 500, idleMs: 5 * 60_000, maxAgeMs: 30 * 60_000 })
  closers.push(() => connections.close())
  return { upstreamUrl, egress, connections }
}

function once(stop: (graceMs?: number) => Promise<void>): (graceMs?: number) => Promise<void> {
  let stopped: Promise<void> | null = null
  return (graceMs) => (stopped ??= stop(graceMs))
}

function limitsOf(config: Config): Services['limits'] {
  const { maxResponseBytes, toolTimeoutMs, leaseMs, joinWindowMs, maxRowsPerProject } = config
  const { maxFileBytes, maxProjectFileBytes, fileTypes } = config
  const model = { modelFirstChunkMs: 60_000, modelIdleMs: 30_000, modelTotalMs: 600_000 }
  const { maxStreamsPerKey, maxStreamsPerProject } = config
  const streams = { maxStreamsPerKey, maxStreamsPerProject }
  const { maxWebhooksPerProject, maxCallbacksPerProject, webhookTimeoutMs } = config
  const hooks = {
    maxWebhooksPerProject,
    maxCallbacksPerProject,
    webhookTimeoutMs,
    slackApiUrl: config.slackApiUrl,
  }
  const files = { maxFileBytes, maxProjectFileBytes, fileTypes }
  return {
    maxResponseBytes,
    toolTimeoutMs,
    leaseMs,
    joinWindowMs,
    maxRowsPerProject,
    ...streams,
    ...files,
    ...model,
    ...hooks,
  }
}

function environmentOf({ models }: Config): EnvironmentProvider[] {
  return (['openai', 'anthropic', 'google', 'compatible'] as const)
    .filter((kind) => models[kind].apiKey !== null || models[kind].baseUrl !== null)
    .map((kind) => ({ name: kind, kind, ...models[kind] }))
}
