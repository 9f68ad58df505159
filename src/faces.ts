/** Opens the faces: who is asking, what they reach, and the server that all of them share. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { makeContext, type GraphQLContext } from './api/graphql/context.ts'
import type { SocketLimits } from './api/graphql/socket-limits.ts'
import { openSockets, type Sockets } from './api/graphql/sockets.ts'
import { makeYoga, type Credentials } from './api/graphql/yoga.ts'
import { makeFiles } from './api/http/files.ts'
import { makeOauth } from './api/http/oauth.ts'
import { listen, type HttpServer } from './api/http/server.ts'
import { makeMcp, type Caller, type Mcp } from './api/mcp/handler.ts'
import type { Times } from './api/mcp/visit.ts'
import type { Config } from './config.ts'
import {
  assertUnbound,
  createAuthenticator,
  createRateLimit,
  createTokenVerifier,
  unauthenticated,
  type Ctx,
  type House,
} from './domain/access/index.ts'
import type { Models, Workers } from './domain/generations/index.ts'
import { query } from './store/db/database.ts'
import type { Live } from './store/events/live.ts'
import type { Lag } from './store/events/numbering.ts'

/** Everything that listens, over one address. */
export interface Faces {
  server: HttpServer
  sockets: Sockets | null
  mcp: Mcp | null
}

/** What tests put in place of the usual limits and times of the faces. */
export interface FaceParts {
  sockets?: Partial<SocketLimits>
  /** How long the bridge holds requests. */
  mcp?: Partial<Times>
}

/** How the outside reaches this server: known once it listens, when the configuration does not say. */
export interface Address {
  url: string
}

/** Makes the faces and listens; `closers` gets what must be closed after them. */
export async function openFaces(
  config: Config,
  house: House,
  models: Models,
  workers: Workers | null,
  parts: FaceParts,
  address: Address,
  closers: (() => Promise<unknown>)[],
  isDraining: () => boolean,
): Promise<Faces> {
  const serves = config.role !== 'worker'
  const { ctxOf, contextOf } = callersOf(config, house, models, address, closers)
  const shared = { log: house.log, corsOrigins: config.corsOrigins, contextOf }
  const yoga = serves ? makeYoga({ ...shared, graphiql: config.graphiql }) : null
  const sockets = yoga ? openSockets({ ...shared, yoga, stays: house.stays, limits: parts.sockets }) : null
  const mcp = serves
    ? makeMcp({
        house,
        contextOf: ctxOf,
        publicUrl: () => address.url,
        issuer: config.oidc?.issuer ?? null,
        guard: { allowedHosts: hostsOf(config), corsOrigins: config.corsOrigins },
        times: parts.mcp,
      })
    : null
  const registry = metricsOf(house.live, sockets, workers)
  const server = await listen(
    {
      graphql: yoga,
      mcp,
      files: serves ? makeFiles(house, fileCaller(ctxOf, address)) : null,
      oauth: serves ? makeOauth(house) : null,
      upgrade: sockets?.upgrade ?? null,
      ready: async () => !isDraining() && (await answersInTime(house)),
      metrics: async () => ({ type: registry.contentType, text: await registry.metrics() }),
    },
    config.host,
    config.port,
  )
  address.url ||= server.url
  return { server, sockets, mcp }
}

/** Whoever asks for readiness decides within a second; a database that takes longer is not ready. */
const readinessMs = 900

async function answersInTime({ leaseDb }: House): Promise<boolean> {
  const answer = query(leaseDb, sql`select 1 from installation`).then((rows) => rows.length > 0)
  const late = pause(readinessMs, false, { ref: false })
  return Promise.race([answer, late]).catch(() => false)
}

/** Who is asking, for every face. The address is known once it listens, and asked for only then. */
function callersOf(
  config: Config,
  house: House,
  models: Models,
  address: Address,
  closers: (() => Promise<unknown>)[],
) {
  const authenticator = createAuthenticator(
    house,
    config.oidc ? createTokenVerifier(house, config.oidc) : null,
  )
  closers.push(async () => authenticator.close())
  const rate = createRateLimit(house.clock, config.requestsPerMinute)
  const ctxOf = async ({ secret, resources, remoteAddress, requestId, messages }: Caller): Promise<Ctx> => {
    const principal = await authenticator.authenticate(secret, resources)
    for (let i = 0; i < messages; i++) rate.take(principal.id)
    return { ...house, principal, requestId, remoteAddress }
  }
  const contextOf = async ({ authorization, ...request }: Credentials): Promise<GraphQLContext> => {
    if (authorization === null) return makeContext(refuse, models, request.requestId)
    const resources = [`${address.url}/graphql`]
    const ctx = await ctxOf({ secret: tokenOf(authorization), resources, messages: 1, ...request })
    assertUnbound(ctx.principal)
    return makeContext(() => ctx, models, request.requestId)
  }
  return { ctxOf, contextOf }
}

/** Who announces a file over REST. */
function fileCaller(ctxOf: (caller: Caller) => Promise<Ctx>, address: Address) {
  return ({ headers, socket }: IncomingMessage): Promise<Ctx> =>
    ctxOf({
      secret: tokenOf(headers.authorization ?? ''),
      resources: [`${address.url}/api/v1/files`],
      remoteAddress: socket.remoteAddress ?? null,
      requestId: randomUUID(),
      messages: 1,
    })
}

/** Names in the Host header that belong to us. */
function hostsOf({ host, publicUrl, allowedHosts }: Config): string[] {
  return [host, ...(publicUrl ? [new URL(publicUrl).hostname] : []), ...allowedHosts]
}

function refuse(): never {
  throw unauthenticated()
}

function tokenOf(authorization: string): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null
}

/** Events that wait for their place in the feed; NaN while the database is away. */
function addLag(registry: Registry, live: Live): void {
  const gauge = (name: string, help: string, read: (lag: Lag) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await live.lag().then(read, () => Number.NaN))
      },
    })
  gauge(
    'gatehouse_events_lag_seconds',
    'The age of the oldest committed event without a place in its feed; 0 when there is none.',
    (lag) => lag.seconds,
  )
  gauge(
    'gatehouse_events_unnumbered',
    'Committed events without a place in their feed, counted up to 10,000.',
    (lag) => lag.events,
  )
}

function metricsOf(live: Live, sockets: Sockets | null, workers: Workers | null): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge('gatehouse_generations_in_hand', 'Generations this process works on now.', () => workers?.busy() ?? 0)
  gauge('gatehouse_streams', 'Streams of events with a subscriber in this process.', () => live.topicCount())
  addLag(registry, live)
  gauge('gatehouse_sockets', 'Open GraphQL sockets of this process.', () => sockets?.count() ?? 0)
  return registry
}
