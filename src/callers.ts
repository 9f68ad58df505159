/** Authenticates the callers of all APIs by key or token, and rate-limits the others by address. */
import { randomUUID } from 'node:crypto'
import type { BlockList } from 'node:net'
import type { IncomingMessage } from 'node:http'
import { makeContext } from './api/graphql/context.ts'
import type { ContextOf } from './api/graphql/http-route.ts'
import type { Credentials } from './api/mcp/handler.ts'
import type { Config } from './config.ts'
import { clientAddress, countedAddress, networksOf } from './core/client-address.ts'
import { AppError } from './core/errors.ts'
import {
  assertUnbound,
  createAuthenticator,
  createAddressLimit,
  createTokenVerifier,
  type AddressLimit,
  type Ctx,
  type Services,
} from './domain/access/index.ts'
import type { Models } from './domain/generations/index.ts'

/** The public URL of this server. Without one in the configuration it is set when the server listens. */
export interface Address {
  url: string
}

export interface Callers {
  /**
   * The context of a request. Throws UNAUTHENTICATED, or LIMITED after too many requests of the address without a valid
   * key.
   */
  ctxOf(caller: Credentials): Promise<Ctx>
  /** Takes requests from the rate limit of the caller; throws LIMITED. */
  take(ctx: Ctx, requests: number): Promise<void>
  contextOf: ContextOf
  /** The context of a request that announces a file over REST. */
  fileCaller(request: IncomingMessage): Promise<Ctx>
  addressOf(request: IncomingMessage): string | null
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
  const authenticator = createAuthenticator(
    services,
    config.oidc ? createTokenVerifier(services, config.oidc) : null,
  )
  closers.push(async () => authenticator.close())
  const anonymous = createAddressLimit(services.clock, config.anonymousPerMinute)
  const trusted: BlockList = networksOf(config.trustedProxies)!
  const addressOf = ({ socket, headers }: IncomingMessage) =>
    clientAddress(socket.remoteAddress, headers['x-forwarded-for'], trusted)
  const ctxOf = async ({ secret, resources, remoteAddress, requestId }: Credentials): Promise<Ctx> => {
    const known = authenticator.isKnown(secret)
    const name = countedAddress(remoteAddress ?? '')
    // Taken before the query for the key and put back when the key is valid, so that guessed keys cause few queries.
    if (!known) takeOne(anonymous, name)
    const principal = await authenticator.authenticate(secret, resources)
    if (!known) anonymous.giveBack(name)
    return { ...services, principal, requestId, remoteAddress }
  }
  const take = (ctx: Ctx, requests: number) => services.rates.takeRequests(ctx.principal, requests)
  const contextOf: ContextOf = async ({ authorization, ...request }) => {
    if (authorization === null) {
      takeOne(anonymous, countedAddress(request.remoteAddress ?? ''))
      return makeContext(null, models, request.requestId, config.maxAnswerBytes)
    }
    const resources = [`${address.url}/graphql`]
    const ctx = await ctxOf({ secret: tokenOf(authorization), resources, ...request })
    await take(ctx, 1)
    assertUnbound(ctx.principal)
    return makeContext(ctx, models, request.requestId, config.maxAnswerBytes)
  }
  return {
    ctxOf,
    take,
    contextOf,
    async fileCaller(request) {
      const ctx = await ctxOf({
        secret: tokenOf(request.headers.authorization ?? ''),
        resources: [`${address.url}/api/v1/files`],
        remoteAddress: addressOf(request),
        requestId: randomUUID(),
      })
      await take(ctx, 1)
      return ctx
    },
    addressOf,
    takeAnonymous: (request) => anonymous.take(countedAddress(addressOf(request) ?? '')),
  }
}

function takeOne(anonymous: AddressLimit, name: string): void {
  const retryAfterMs = anonymous.take(name)
  if (retryAfterMs > 0)
    throw new AppError(
      'LIMITED',
      'Too many requests without a valid key from this address. Try again later.',
      { retryAfterMs },
    )
}

function tokenOf(authorization: string): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null
}
