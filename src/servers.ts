/** Starts the servers: GraphQL, MCP, files, OAuth pages and metrics over one HTTP server. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { createOperations, graphqlRoute } from './api/graphql/transport/http-route.ts'
import type { SocketLimits } from './api/graphql/transport/socket-limits.ts'
import { openSockets, type Sockets } from './api/graphql/transport/sockets.ts'
import { makeYoga } from './api/graphql/transport/yoga.ts'
import { maxAnonymousBodyBytes, maxBodyBytes } from './api/http/bodies.ts'
import type { SessionParts } from './api/http/browser-session.ts'
import { allowOrigins } from './api/http/cors.ts'
import { makeFiles } from './api/http/files.ts'
import { makeOauth } from './api/http/oauth.ts'
import { makeSessions } from './api/http/session.ts'
import {
  listen,
  listenForMetrics,
  defaultServerLimits,
  type HttpServer,
  type ServerLimits,
  type Routes,
} from './api/http/server.ts'
import type { RouteGroup } from './api/http/route.ts'
import { makeSignIn } from './api/http/sign-in.ts'
import { makeSlack, makeHooks } from './api/http/signed-messages.ts'
import { makeInvitations, makeVerdicts } from './api/http/link-pages.ts'
import { makeWeb } from './api/http/web.ts'
import { makeMcp, type Mcp } from './api/mcp/handler.ts'
import type { McpTimings } from './api/mcp/http/mcp-runtime.ts'
import { copilotKitApi } from './api/protocols/ag-ui/copilotkit.ts'
import { agUiApi } from './api/protocols/ag-ui/handler.ts'
import { a2aApi } from './api/protocols/a2a/handler.ts'
import { chatApi } from './api/protocols/chat/handler.ts'
import { codingAgentsApi } from './api/protocols/coding-agents/handler.ts'
import { connectorsApi } from './api/http/connectors.ts'
import { authenticatedRoute } from './api/http/authenticated-api.ts'
import { restApi } from './api/protocols/rest/handler.ts'
import { completionRoutes } from './api/protocols/completions/handler.ts'
import { responsesApi } from './api/protocols/responses/handler.ts'
import { createCallers, type Address, type Callers } from './callers.ts'
import type { Config } from './config.ts'
import { hostFault } from './core/addresses.ts'
import { namingSettings, type ListenSettings } from './start-fault.ts'
import { sha256Hex } from './core/signing.ts'
import { type Services } from './domain/access/index.ts'
import { createProvider, createSignIn } from './domain/sign-in/index.ts'
import type { Models } from './domain/models/index.ts'
import { addGauges } from './metrics.ts'
import { webFolder } from './paths.ts'
import type { Workers } from './workers.ts'
import { newestName } from './store/db/migrations.ts'

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

/** What the servers are opened over. */
interface ServerSetup {
  config: Config
  services: Services
  models: Models
  workers: Workers | null
  registry: Registry
  /** Without a public URL it is known when the server listens, and set then. */
  address: Address
  /** What must be closed after the servers is added. */
  closers: (() => Promise<unknown>)[]
  isDraining(): boolean
}

/** Starts the servers. */
export async function openServers(setup: ServerSetup, parts: ServerParts): Promise<Servers> {
  const { config, services, models, workers, registry, address, closers } = setup
  const serves = config.role !== 'worker'
  const callers = createCallers(config, services, models, address, closers)
  const { log } = services
  const { corsOrigins } = config
  const graphql = serves ? graphqlOf(config, callers, log) : null
  const { revocations } = services
  const sockets = graphql
    ? openSockets({ ...graphql, publicUrl: () => address.url, revocations, limits: parts.sockets })
    : null
  const allowedHosts = hostsOf(config)
  const mcp = serves
    ? makeMcp({
        services,
        contextOf: callers.ctxOf,
        admit: callers.admit,
        addressOf: callers.addressOf,
        publicUrl: () => address.url,
        issuer: config.oidc?.issuer ?? null,
        guard: { allowedHosts, corsOrigins, publicUrl: () => address.url },
        timings: parts.mcp,
      })
    : null
  addGauges(registry, config, services, sockets, workers)
  const metrics = metricsRoute(registry, config.metricsToken)
  const { metricsListen, maxConnections, maxConnectionsPerAddress } = config
  const apart = metricsListen ? await listenApart(metrics, metricsListen) : null
  if (apart) closers.push(() => apart.close(0))
  const sessions = sessionParts(config, services, callers)
  const listening = listen(
    {
      allowOrigin: allowOrigins(corsOrigins),
      mcp,
      known: graphql ? [graphqlRoute(graphql), ...knownRoutes(address, callers, sessions)] : [],
      open: [...(apart ? [] : [metrics]), ...(serves ? openGroups(sessions) : [])],
      web: serves ? makeWeb(webFolder()) : null,
      upgrade: sockets?.upgrade ?? null,
      hostFault: (host) => hostFault(host, allowedHosts),
      takeAnonymous: callers.takeAnonymous,
      connectionName: callers.connectionName,
      ...readiness(services, setup.isDraining),
    },
    config.host,
    config.port,
    { ...defaultServerLimits, maxConnections, maxConnectionsPerAddress, ...parts.server },
  )
  const server = await namingSettings(listening, settingsOf(config))
  address.url ||= server.url
  return { server, sockets, mcp, metricsUrl: apart?.url ?? null }
}

const settingsOf = ({ isPlatformPort }: Config): ListenSettings => ({
  host: 'GATEHOUSE_HOST',
  port: isPlatformPort ? 'PORT' : 'GATEHOUSE_PORT',
})

function listenApart(metrics: RouteGroup, { host, port }: { host: string; port: number }) {
  const setting = 'GATEHOUSE_METRICS_LISTEN'
  return namingSettings(listenForMetrics(metrics, host, port), { host: setting, port: setting })
}

/** What knows its callers beside GraphQL. Files are below the path of the REST API. */
function knownRoutes(address: Address, callers: Callers, sessions: SessionParts): RouteGroup[] {
  const { services } = sessions
  const openaiApi = { ...responsesApi, routes: [...responsesApi.routes, ...completionRoutes] }
  const urlOf = () => address.url
  const apis = [
    restApi,
    codingAgentsApi(urlOf),
    openaiApi,
    chatApi,
    agUiApi,
    copilotKitApi,
    a2aApi(urlOf),
    connectorsApi,
  ]
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
  return [makeOauth(sessions), ...pages, makeSlack(services), makeHooks({ services, addressOf })]
}

function sessionParts({ oidc }: Config, services: Services, callers: Callers): SessionParts {
  const signIn = oidc?.client
    ? createSignIn(services, createProvider(services, oidc), oidc, oidc.client)
    : null
  return { services, callers, signIn }
}

/** What GraphQL over HTTP and over sockets share. */
function graphqlOf(config: Config, { contextOf, addressOf, sessionOf }: Callers, log: Services['log']) {
  const { corsOrigins, graphiql, production } = config
  const operations = createOperations(log, production)
  return {
    yoga: makeYoga({ log, graphiql, ...operations }),
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
function readiness(services: Services, isDraining: () => boolean): Pick<Routes, 'ready' | 'release'> {
  let last: boolean | null = null
  let { schema } = services.release
  return {
    ready: async (isOverLimit) => {
      if (isDraining()) return false
      if (isOverLimit && last !== null) return last
      last = await canWriteInTime(services)
      // A newer release may have migrated the database since this one started. It decides nothing.
      if (last) schema = (await inTime(newestName(services.leaseDb), null)) ?? schema
      return last
    },
    release: () => ({ ...services.release, schema, ...redisOf(services) }),
  }
}

/** Hints are no condition of work: a server without its Redis is ready, and says so. */
function redisOf({ pubsub }: Services): { redis?: 'up' | 'away' } {
  return pubsub.isRedisUp ? { redis: pubsub.isRedisUp() ? 'up' : 'away' } : {}
}

/** Readiness probes usually time out after a second: a slower database counts as not ready. Milliseconds. */
const readinessMs = 900

const canWriteInTime = ({ health }: Services): Promise<boolean> => inTime(health.canWrite(), false)

/** The answer of the database; `otherwise` when it fails or is late. */
function inTime<Answer>(answer: Promise<Answer>, otherwise: Answer): Promise<Answer> {
  const late = pause(readinessMs, otherwise, { ref: false })
  return Promise.race([answer, late]).catch(() => otherwise)
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
