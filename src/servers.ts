/** Starts the servers: GraphQL, MCP, files, OAuth pages and metrics over one HTTP server. */
import { setTimeout as pause } from 'node:timers/promises'
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { createOperations, graphqlRoute } from './api/graphql/transport/http-route.ts'
import type { SocketLimits } from './api/graphql/transport/socket-limits.ts'
import { openSockets, type Sockets } from './api/graphql/transport/sockets.ts'
import { makeYoga } from './api/graphql/transport/yoga.ts'
import { maxAnonymousBodyBytes, maxBodyBytes } from './api/http/bodies.ts'
import type { FirstLink, SessionParts } from './api/http/browser-session.ts'
import { makeFiles } from './api/http/files.ts'
import { makeOauth } from './api/http/oauth.ts'
import { makeSessions } from './api/http/session.ts'
import {
  listen,
  listenForMetrics,
  defaultServerLimits,
  type HttpServer,
  type ServerLimits,
} from './api/http/server.ts'
import type { RouteGroup } from './api/http/route.ts'
import { makeSignIn } from './api/http/sign-in.ts'
import { makeSlack } from './api/http/slack.ts'
import { makeHooks } from './api/http/triggers.ts'
import { makeInvitations } from './api/http/invitation.ts'
import { makeVerdicts } from './api/http/verdict.ts'
import { makeWeb } from './api/http/web.ts'
import { makeMcp, type Mcp } from './api/mcp/handler.ts'
import type { McpTimings } from './api/mcp/http/timings.ts'
import { copilotKitApi } from './api/protocols/ag-ui/copilotkit.ts'
import { agUiApi } from './api/protocols/ag-ui/handler.ts'
import { a2aApi } from './api/protocols/a2a/handler.ts'
import { chatApi } from './api/protocols/chat/handler.ts'
import { authenticatedRoute } from './api/http/authenticated-api.ts'
import { restApi } from './api/protocols/rest/handler.ts'
import { responsesApi } from './api/protocols/responses/handler.ts'
import { createCallers, type Address, type Callers } from './callers.ts'
import type { Config } from './config.ts'
import { hostFault } from './core/host-names.ts'
import { sha256Hex } from './core/signing.ts'
import { type Services } from './domain/access/index.ts'
import { createProvider, createSignIn } from './domain/sign-in/index.ts'
import type { Egress } from './domain/egress/index.ts'
import type { Models } from './domain/models/index.ts'
import { webFolder } from './paths.ts'
import type { Workers } from './workers.ts'
import type { EventBroadcaster } from './store/events/broadcaster.ts'
import type { Lag } from './store/events/numbering.ts'

/** The running servers of a process. */
export interface Servers {
  server: HttpServer
  sockets: Sockets | null
  mcp: Mcp | null
  /** The URL of a separate address for metrics, if there is one. */
  metricsUrl: string | null
}

/** Limits and times that tests override. */
export interface ServerParts {
  sockets?: Partial<SocketLimits>
  /** How long MCP requests are held. */
  mcp?: Partial<McpTimings>
  /** Limits of the HTTP server. */
  server?: Partial<ServerLimits>
}

/** Starts the servers. Adds to `closers` what must be closed after them. */
export async function openServers(
  config: Config,
  services: Services,
  models: Models,
  workers: Workers | null,
  parts: ServerParts,
  address: Address,
  closers: (() => Promise<unknown>)[],
  isDraining: () => boolean,
  link: FirstLink | null,
): Promise<Servers> {
  const serves = config.role !== 'worker'
  const callers = createCallers(config, services, models, address, closers)
  const { log } = services
  const { corsOrigins } = config
  const graphql = serves ? graphqlOf(config, callers, log) : null
  const { revocations } = services
  const sockets = graphql ? openSockets({ ...graphql, revocations, limits: parts.sockets }) : null
  const allowedHosts = hostsOf(config)
  const mcp = serves
    ? makeMcp({
        services,
        contextOf: callers.ctxOf,
        take: callers.take,
        addressOf: callers.addressOf,
        publicUrl: () => address.url,
        issuer: config.oidc?.issuer ?? null,
        guard: { allowedHosts, corsOrigins },
        timings: parts.mcp,
      })
    : null
  const metrics = metricsRoute(metricsOf(services, sockets, workers), config.metricsToken)
  const { metricsListen, maxConnections, maxConnectionsPerAddress } = config
  const apart = metricsListen ? await listenForMetrics(metrics, metricsListen.host, metricsListen.port) : null
  if (apart) closers.push(() => apart.close(0))
  const sessions = sessionParts(config, services, callers, link)
  const server = await listen(
    {
      mcp,
      known: graphql ? [graphqlRoute(graphql), ...knownRoutes(address, callers, sessions)] : [],
      open: [...(apart ? [] : [metrics]), ...(serves ? openGroups(sessions) : [])],
      web: serves ? makeWeb(webFolder()) : null,
      upgrade: sockets?.upgrade ?? null,
      hostFault: (host) => hostFault(host, allowedHosts),
      takeAnonymous: callers.takeAnonymous,
      connectionName: callers.connectionName,
      ready: readiness(services, isDraining),
    },
    config.host,
    config.port,
    { ...defaultServerLimits, maxConnections, maxConnectionsPerAddress, ...parts.server },
  )
  address.url ||= server.url
  return { server, sockets, mcp, metricsUrl: apart?.url ?? null }
}

/** What knows its callers beside GraphQL. Files are below the path of the REST API. */
function knownRoutes(address: Address, callers: Callers, sessions: SessionParts): RouteGroup[] {
  const { services } = sessions
  const apis = [restApi, responsesApi, chatApi, agUiApi, copilotKitApi, a2aApi(() => address.url)]
  return [
    makeFiles(services, callers),
    ...apis.map((api) => authenticatedRoute(api, callers, services.log)),
    makeSessions(sessions),
    makeSignIn(sessions),
  ]
}

function openGroups(sessions: SessionParts): RouteGroup[] {
  const { services, callers } = sessions
  const { addressOf } = callers
  const pages = [makeVerdicts({ services, addressOf }), makeInvitations(sessions)]
  return [makeOauth(services), ...pages, makeSlack(services), makeHooks({ services, addressOf })]
}

function sessionParts(
  { oidc }: Config,
  services: Services,
  callers: Callers,
  link: FirstLink | null,
): SessionParts {
  const signIn = oidc?.client
    ? createSignIn(services, createProvider(services, oidc), oidc, oidc.client)
    : null
  return { services, callers, signIn, link }
}

/** What GraphQL over HTTP and over sockets share. */
function graphqlOf(config: Config, { contextOf, addressOf, sessionOf }: Callers, log: Services['log']) {
  const { corsOrigins, graphiql, production } = config
  const operations = createOperations(log, production)
  return {
    yoga: makeYoga({ log, corsOrigins, graphiql, ...operations }),
    ...operations,
    log,
    corsOrigins,
    contextOf,
    addressOf,
    sessionOf,
    maxBodyBytes: { known: maxBodyBytes, anonymous: maxAnonymousBodyBytes },
  }
}

/** An address over its limit costs no statement: it is told what was true last. */
function readiness(
  services: Services,
  isDraining: () => boolean,
): (isOverLimit: boolean) => Promise<boolean> {
  let last: boolean | null = null
  return async (isOverLimit) => {
    if (isDraining()) return false
    if (!isOverLimit || last === null) last = await canWriteInTime(services)
    return last
  }
}

/** Readiness probes usually time out after a second: a slower database counts as not ready. Milliseconds. */
const readinessMs = 900

async function canWriteInTime({ health }: Services): Promise<boolean> {
  const response = health.canWrite()
  const late = pause(readinessMs, false, { ref: false })
  return Promise.race([response, late]).catch(() => false)
}

/** Accepted names in the Host header. */
function hostsOf({ host, publicUrl, allowedHosts }: Config): string[] {
  return [host, ...(publicUrl ? [new URL(publicUrl).hostname] : []), ...allowedHosts]
}

/** The route of the metrics, which requires the bearer token if one is configured. */
function metricsRoute(registry: Registry, token: string | null): RouteGroup {
  const expected = token === null ? null : sha256Hex(`Bearer ${token}`)
  return {
    serves: (path) => path === '/metrics',
    async serve({ headers }, response) {
      // Comparing hashes reveals nothing about the token by timing.
      if (expected !== null && sha256Hex(headers.authorization ?? '') !== expected)
        return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
      response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
    },
  }
}

/** Gauges of events without a position in the feed; NaN while the database is unavailable. */
function addLag(registry: Registry, broadcaster: EventBroadcaster): void {
  const gauge = (name: string, help: string, read: (lag: Lag) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await broadcaster.lag().then(read, () => Number.NaN))
      },
    })
  gauge(
    'gatehouse_events_lag_seconds',
    'Age of the oldest committed event without a position in the feed; 0 when there is none.',
    (lag) => lag.seconds,
  )
  gauge(
    'gatehouse_events_unnumbered',
    'Committed events without a position in the feed, counted up to 10,000.',
    (lag) => lag.events,
  )
}

/** Counters of the connections that are kept to http tools. */
function addConnections(registry: Registry, { kept }: Egress): void {
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  counter(
    'gatehouse_tool_connections_reused_total',
    'Requests of http tools that went over a kept connection.',
    () => kept.reused,
  )
  counter(
    'gatehouse_tool_connections_lost_total',
    'Of these, requests whose connection was lost before a byte of the response.',
    () => kept.lost,
  )
  counter(
    'gatehouse_tool_connections_unasked_total',
    'Connections to http tools that were closed because the server sent bytes that nobody had asked for.',
    () => kept.unasked,
  )
}

/** Counters and the lag of webhooks; only a process that runs workers delivers. */
function addWebhooks(registry: Registry, { webhooks }: Workers): void {
  const attempts = new Counter({
    name: 'gatehouse_webhook_attempts_total',
    help: 'Attempts to deliver an event to a webhook; dead: those after which no other follows by itself.',
    labelNames: ['outcome'],
    registers: [],
    collect() {
      this.reset()
      for (const [outcome, count] of Object.entries(webhooks.counts)) this.inc({ outcome }, count)
    },
  })
  const lag = new Gauge({
    name: 'gatehouse_webhooks_lag_seconds',
    help: 'Age of the oldest event that an enabled webhook has not been sent yet; 0 when there is none.',
    registers: [],
    async collect() {
      this.set(await webhooks.lag().catch(() => Number.NaN))
    },
  })
  registry.registerMetric(attempts)
  registry.registerMetric(lag)
}

function addRetention(registry: Registry, { retention }: Workers): void {
  const removed = new Counter({
    name: 'gatehouse_retention_removed_total',
    help: 'Rows that sweeps of this process have removed, by kind; runs with those below them.',
    labelNames: ['kind'],
    registers: [],
    collect() {
      this.reset()
      for (const [kind, count] of Object.entries(retention.counts().removed)) this.inc({ kind }, count)
    },
  })
  const sweeps = new Counter({
    name: 'gatehouse_retention_sweeps_total',
    help: 'Sweeps of this process that ended, and those that an error interrupted.',
    labelNames: ['outcome'],
    registers: [],
    collect() {
      this.reset()
      const { sweeps: finished, failures } = retention.counts()
      this.inc({ outcome: 'finished' }, finished)
      this.inc({ outcome: 'failed' }, failures)
    },
  })
  registry.registerMetric(removed)
  registry.registerMetric(sweeps)
}

function metricsOf(
  { broadcaster, egress, health }: Services,
  sockets: Sockets | null,
  workers: Workers | null,
): Registry {
  const registry = new Registry()
  // The default of 10 ms wakes an idle process a hundred times a second.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge(
    'gatehouse_generations_in_hand',
    'Generations that this process is running.',
    () => workers?.busy() ?? 0,
  )
  gauge(
    'gatehouse_database_oldest_write_seconds',
    'Age of the oldest write without an answer of the database, COMMIT included; it grows while no synchronous standby confirms.',
    () => health.waiting().oldestWriteMs / 1000,
  )
  gauge(
    'gatehouse_database_abandoned_connections',
    'Connections that this process has given up and whose statement still waits in the server; they count against its pool.',
    () => health.waiting().abandoned,
  )
  gauge('gatehouse_streams', 'Streams of events with a subscriber in this process.', () =>
    broadcaster.topicCount(),
  )
  addLag(registry, broadcaster)
  addConnections(registry, egress)
  if (workers) {
    addWebhooks(registry, workers)
    addRetention(registry, workers)
  }
  gauge('gatehouse_sockets', 'Open GraphQL sockets of this process.', () => sockets?.count() ?? 0)
  return registry
}
