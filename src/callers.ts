/** Authenticates the callers of all APIs by key or token, and rate-limits the others by address. */
import { randomUUID } from 'node:crypto'
import type { BlockList } from 'node:net'
import type { IncomingMessage } from 'node:http'
import { makeContext } from './api/graphql/builder/context.ts'
import type { ContextOf } from './api/graphql/transport/http-route.ts'
import type { Credentials } from './api/mcp/handler.ts'
import type { Config } from './config.ts'
import { cookieName, isOwnOrigin, readCookie } from './core/cookies.ts'
import { clientAddress, connectionName, countedAddress, networksOf } from './core/addresses.ts'
import { AppError } from './core/errors.ts'
import { traceContextOf } from './core/telemetry/unit.ts'
import {
  actingFor,
  assertUnbound,
  createAuthenticator,
  createAddressLimit,
  createKeyUses,
  createSessionAuthenticator,
  personNamedIn,
  sessionCookie,
  type AddressLimit,
  type Ctx,
  type Principal,
  type Services,
} from './domain/access/index.ts'
import { createTokenVerifier } from './domain/sign-in/index.ts'
import { keepBearer } from './domain/upstream/index.ts'
import type { Models } from './domain/models/index.ts'

/** The public URL of this server. Without one in the configuration it is set when the server listens. */
export interface Address {
  url: string
}

/** Sign-ins with a wrong key that one address may try, on one replica. */
const wrongKeysPerMinute = 30

type From = Pick<Ctx, 'remoteAddress' | 'requestId' | 'trace'>

export interface Callers {
  /**
   * The context of a request. Throws UNAUTHENTICATED, or LIMITED after too many requests of the address without a valid
   * key.
   */
  ctxOf(caller: Credentials): Promise<Ctx>
  /**
   * Takes requests from the rate limit of the caller, and returns its context with the person for whom it says it acts, as
   * `actingFor`. Throws LIMITED, and what `actingFor` throws.
   */
  admit(ctx: Ctx, requests: number, actsFor: unknown): Promise<Ctx>
  contextOf: ContextOf
  /**
   * The token in the session cookie of a request for which it counts: a POST of JSON or an upgrade from a page of this
   * server. Null for any other, so that no other site can act with the cookie.
   */
  sessionOf(request: IncomingMessage): string | null
  /** The context of a key that signs in. Throws UNAUTHENTICATED, or LIMITED after too many wrong keys of the address. */
  signIn(secret: string, request: IncomingMessage): Promise<Ctx>
  /** The context of a session. Throws UNAUTHENTICATED, or LIMITED as ctxOf does. */
  bySession(token: string, request: IncomingMessage): Promise<Ctx>
  /** The context of a request that announces a file over REST. */
  fileCaller(request: IncomingMessage): Promise<Ctx>
  /**
   * The context of a request of an HTTP API at this path. Throws UNAUTHENTICATED, FORBIDDEN for a key that is bound to
   * an agent, or LIMITED.
   */
  authenticatedCaller(request: IncomingMessage, resource: string): Promise<Ctx>
  addressOf(request: IncomingMessage): string | null
  /** The name under which a connection is counted; null for that of a trusted proxy. */
  connectionName(remoteAddress: string | undefined): string | null
  /** Takes one request without a key from the limit of its address; returns the milliseconds to wait, or 0. */
  takeAnonymous(request: IncomingMessage): number
}

export function createCallers(
  config: Config,
  services: Services,
  models: Models,
  address: Address,
  closers: (() => Promise<unknown>)[],
): Callers {
  const { ctxOf, bySession, signIn, anonymous, addressOf, trusted } = createContexts(
    config,
    services,
    closers,
  )
  const contextOf: ContextOf = async ({ authorization, session, shown, actsFor, ...request }) => {
    if (authorization === null && session === null) {
      takeOne(anonymous, countedAddress(request.remoteAddress ?? ''))
      return makeContext(null, models, request.requestId, config.maxAnswerBytes)
    }
    const resources = [`${address.url}/graphql`]
    const caller =
      authorization === null
        ? asShown(await bySession(session!, request), shown)
        : await ctxOf({ secret: tokenOf(authorization), resources, ...request })
    if (authorization !== null && session !== null)
      await assertSame(caller, () => bySession(session, request))
    const ctx = await admit(caller, 1, actsFor)
    assertUnbound(ctx.principal)
    return makeContext(ctx, models, request.requestId, config.maxAnswerBytes)
  }
  const byHeader = async (request: IncomingMessage, path: string) => {
    const ctx = await ctxOf({
      secret: tokenOf(request.headers.authorization ?? ''),
      resources: [`${address.url}${path}`],
      remoteAddress: addressOf(request),
      requestId: randomUUID(),
      trace: traceContextOf(request.headers),
    })
    return admit(ctx, 1, personNamedIn(request.headers))
  }
  return {
    ctxOf,
    admit,
    contextOf,
    sessionOf: (request) => sessionOf(request, address.url),
    signIn,
    bySession: (token, request) =>
      bySession(token, { remoteAddress: addressOf(request), requestId: randomUUID() }),
    fileCaller: (request) => byHeader(request, '/api/v1/files'),
    async authenticatedCaller(request, resource) {
      const ctx = await byHeader(request, resource)
      assertUnbound(ctx.principal)
      return ctx
    },
    addressOf,
    connectionName: (remoteAddress) => connectionName(remoteAddress, trusted),
    takeAnonymous: (request) => anonymous.take(countedAddress(addressOf(request) ?? '')),
  }
}

async function admit(ctx: Ctx, requests: number, actsFor: unknown): Promise<Ctx> {
  await ctx.rates.takeRequests(ctx.principal, requests)
  return actingFor(ctx, actsFor)
}

/** Finds the callers of all requests, and counts those of addresses that guess. */
function createContexts(config: Config, services: Services, closers: (() => Promise<unknown>)[]) {
  const authenticator = createAuthenticator(
    services,
    config.oidc
      ? createTokenVerifier(services, config.oidc, (principal, token) =>
          keepBearer(services, principal, token),
        )
      : null,
  )
  const sessions = createSessionAuthenticator(services)
  closers.push(async () => authenticator.close())
  closers.push(async () => sessions.close())
  const uses = createKeyUses(services)
  closers.push(() => uses.close())
  const anonymous = createAddressLimit(services.clock, config.anonymousPerMinute)
  const wrongKeys = createAddressLimit(services.clock, wrongKeysPerMinute)
  const trusted: BlockList = networksOf(config.trustedProxies)!
  const addressOf = ({ socket, headers }: IncomingMessage) =>
    clientAddress(socket.remoteAddress, headers['x-forwarded-for'], trusted)
  const counted = async (
    known: boolean,
    { remoteAddress, requestId, trace }: From,
    find: () => Promise<Principal>,
  ) => {
    const name = countedAddress(remoteAddress ?? '')
    const principal = await (known ? find() : guarded(anonymous, name, find))
    uses.note(principal)
    return { ...services, principal, requestId, remoteAddress, trace }
  }
  const ctxOf = ({ secret, resources, ...from }: Credentials): Promise<Ctx> =>
    counted(authenticator.isKnown(secret), from, () => authenticator.authenticate(secret, resources))
  const bySession = (token: string, from: From): Promise<Ctx> =>
    counted(sessions.isKnown(token), from, () => sessions.authenticate(token))
  return {
    anonymous,
    addressOf,
    trusted,
    ctxOf,
    bySession,
    async signIn(secret: string, request: IncomingMessage): Promise<Ctx> {
      const from = { remoteAddress: addressOf(request), requestId: randomUUID() }
      const name = countedAddress(from.remoteAddress ?? '')
      const principal = await guarded(wrongKeys, name, () => authenticator.authenticate(secret))
      uses.note(principal)
      await services.rates.takeRequests(principal, 1)
      return { ...services, principal, ...from }
    },
  }
}

/** Addresses that have used up their guesses and whose credential is being queried. */
const queried = new Set<string>()

/**
 * Finds who a credential belongs to, and counts those that are not valid. An address that has used up its guesses is told
 * so for every further one; a valid credential from there still counts, because others share the address. Such an address
 * has one query at a time, so that guesses cost little.
 */
async function guarded(
  guesses: AddressLimit,
  name: string,
  find: () => Promise<Principal>,
): Promise<Principal> {
  const retryAfterMs = guesses.take(name)
  if (retryAfterMs === 0) {
    const principal = await find()
    guesses.giveBack(name)
    return principal
  }
  const tooMany = () => limited(retryAfterMs)
  if (queried.has(name)) throw tooMany()
  queried.add(name)
  try {
    return await find().catch((error: unknown) => {
      throw error instanceof AppError && error.code === 'UNAUTHENTICATED' ? tooMany() : error
    })
  } finally {
    queried.delete(name)
  }
}

function takeOne(anonymous: AddressLimit, name: string): void {
  const retryAfterMs = anonymous.take(name)
  if (retryAfterMs > 0) throw limited(retryAfterMs)
}

function limited(retryAfterMs: number): AppError {
  return new AppError(
    'LIMITED',
    'Too many requests without a valid key from this address. Try again later.',
    { retryAfterMs },
  )
}

function sessionOf({ headers, method }: IncomingMessage, publicUrl: string): string | null {
  const isJsonPost = method === 'POST' && /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')
  const isUpgrade = method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
  if (!isJsonPost && !isUpgrade) return null
  if (!isOwnOrigin(headers.origin, headers.host, publicUrl)) return null
  return readCookie(headers.cookie, cookieName(sessionCookie, publicUrl))
}

/**
 * The context of a session, as long as it is of the principal that its page shows. Throws UNAUTHENTICATED when somebody else
 * has signed in at this browser since: what is decided in the older page would have a name that nobody saw there.
 */
function asShown(ctx: Ctx, shown: string | null): Ctx {
  if (shown === null || shown === ctx.principal.id) return ctx
  throw new AppError(
    'UNAUTHENTICATED',
    'Somebody else has signed in at this browser since this page was loaded. Load it again.',
  )
}

/** Throws UNAUTHENTICATED when the session is of another principal than the Authorization header. */
async function assertSame({ principal }: Ctx, bySession: () => Promise<Ctx>): Promise<void> {
  const other = await bySession().catch((error: unknown) => {
    // A session that has ended names nobody, and the header is valid without it.
    if (error instanceof AppError && ['UNAUTHENTICATED', 'LIMITED'].includes(error.code)) return null
    throw error
  })
  if (other && other.principal.id !== principal.id)
    throw new AppError(
      'UNAUTHENTICATED',
      'The Authorization header and the session cookie are of different callers. Send one of them, or sign out.',
    )
}

function tokenOf(authorization: string): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null
}
