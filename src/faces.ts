/** Opens the faces: who is asking, what they reach, and the server that all of them share. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
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
import { AppError } from './core/errors.ts'
import {
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
      ready: async () => (await query(house.db, sql`select 1 from installation`)).length > 0,
      metrics: async () => ({ type: registry.contentType, text: await registry.metrics() }),
    },
    config.host,
    config.port,
  )
  address.url ||= server.url
  return { server, sockets, mcp }
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
    if (ctx.principal.agentId !== null) throw boundKey()
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

function boundKey(): AppError {
  return new AppError('FORBIDDEN', 'This key is bound to the MCP bridge of one agent.', {
    action: 'agents:Get',
  })
}

function refuse(): never {
  throw unauthenticated()
}

function tokenOf(authorization: string): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null
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
  gauge('gatehouse_sockets', 'Open GraphQL sockets of this process.', () => sockets?.count() ?? 0)
  return registry
}
