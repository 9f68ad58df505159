/** Who is asking, for every face: by key or token, and by address where there is neither. */
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

/** How the outside reaches this server: known once it listens, when the configuration does not say. */
export interface Address {
  url: string
}

export interface Callers {
  /** The caller of one request; throws UNAUTHENTICATED, or LIMITED when the address asks too often without a key. */
  ctxOf(caller: Credentials): Promise<Ctx>
  /** Takes so many requests from what the caller may send; throws LIMITED. */
  take(ctx: Ctx, requests: number): Promise<void>
  contextOf: ContextOf
  /** Who announces a file over REST. */
  fileCaller(request: IncomingMessage): Promise<Ctx>
  addressOf(request: IncomingMessage): string | null
  /** Takes one request without a key; answers the milliseconds to wait, or 0. */
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
    // Taken before the key is looked up, and given back when it is good: guessing costs no look-ups.
    if (!known) assertRoom(anonymous, name)
    const principal = await authenticator.authenticate(secret, resources)
    if (!known) anonymous.giveBack(name)
    return { ...services, principal, requestId, remoteAddress }
  }
  const take = (ctx: Ctx, requests: number) => services.rates.takeRequests(ctx.principal, requests)
  const contextOf: ContextOf = async ({ authorization, ...request }) => {
    if (authorization === null) {
      assertRoom(anonymous, countedAddress(request.remoteAddress ?? ''))
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

function assertRoom(anonymous: AddressLimit, name: string): void {
  const retryAfterMs = anonymous.take(name)
  if (retryAfterMs > 0)
    throw new AppError('LIMITED', 'This address asks too often without a valid key.', { retryAfterMs })
}

function tokenOf(authorization: string): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null
}
