/** The access token of an upstream. It is requested and renewed when needed, by one replica at a time. */
import {
  auth as authorize,
  extractWWWAuthenticateParams,
  OAuthError,
  type AuthProvider,
} from '@modelcontextprotocol/client'
import { secretNames } from '../../secrets/index.ts'
import type { Services } from '../../access/index.ts'
import { openAuth, type TokenExchange, type UpstreamAuth } from '../auth-config.ts'
import type { UpstreamConfig } from '../config.ts'
import { faultOf, UpstreamFault } from '../fault.ts'
import { authFetch, authSecrets, providerOf, type LoginAttempt } from './oauth.ts'
import { exchangeRequest } from './exchange.ts'
import { faultOfSignIn } from './sign-ins.ts'
import type { UpstreamTarget } from '../target.ts'
import { databaseTokenStore, type StoredTokens, type TokenOwner, type TokenStore } from './tokens.ts'

export interface Challenge {
  metadataUrl: string | null
  scope: string | null
}

/** A token that expires sooner than this is renewed before use, in milliseconds. */
const marginMs = 10_000
/** Tokens stored less than this ago are used and not renewed: the refused token was an older one. In milliseconds. */
const freshMs = 2000

/**
 * Supplies the token of a connection. `token` renews an expired one. After a 401 a new one is requested once; throws an
 * UpstreamFault `authorization_required` when a person must log in.
 */
export function authFor(
  services: Services,
  owner: TokenOwner,
  target: UpstreamTarget,
  store: TokenStore = databaseTokenStore(services, owner),
): AuthProvider {
  const auth = owner.config.auth ?? openAuth
  const renewOnce = (seen: StoredTokens, challenge: Challenge | null) =>
    services.connections.share(
      `token ${owner.id} ${owner.person ?? ''} ${owner.actor ?? ''} ${seen.version}`,
      () =>
        store.exclusively(seen.version, (stored, save) =>
          renew(services, owner, target, stored, save, challenge),
        ),
    )
  /**
   * The tokens that this connection last read. A login or a disconnect opens a new connection; a 401 reads them again.
   */
  let cached: { stored: StoredTokens; at: number } | null = null
  const readStored = async (): Promise<StoredTokens> => {
    const stored = await store.read()
    cached = { stored, at: performance.now() }
    return stored
  }
  return {
    async token() {
      const stored = cached ? atPresent(cached) : await readStored()
      if (!hasEnded(stored) || !canRenew(auth, stored)) return stored.tokens?.access_token
      await renewOnce(stored, null).catch((error: unknown) => {
        // Else the server's 401 that follows says more than this failure.
        if (auth.kind === 'token_exchange') throw faultOf(error)
      })
      return (await readStored()).tokens?.access_token
    },
    async onUnauthorized({ response }) {
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      const challenge = { metadataUrl: resourceMetadataUrl?.href ?? null, scope: scope ?? null }
      const used = cached?.stored.version
      const stored = await readStored()
      if (stored.tokens && (stored.version !== used || stored.ageMs < freshMs)) return
      if (challenge.metadataUrl !== stored.metadataUrl && challenge.metadataUrl !== null)
        await store.save({ metadataUrl: challenge.metadataUrl })
      if (!canRenew(auth, stored))
        throw new UpstreamFault('authorization_required', 'A person must log in: connect this upstream.')
      await renewOnce(stored, challenge).catch((error: unknown) => {
        throw faultOf(error)
      })
      await readStored()
    },
  }
}

/** Adjusts the ages in a cached read to the present. */
function atPresent({ stored, at }: { stored: StoredTokens; at: number }): StoredTokens {
  const since = performance.now() - at
  return {
    ...stored,
    ageMs: stored.ageMs + since,
    leftMs: stored.leftMs === null ? null : stored.leftMs - since,
  }
}

function hasEnded({ tokens, leftMs, ageMs }: StoredTokens): boolean {
  if (!tokens || leftMs === null) return false
  return leftMs <= 0 || (leftMs < marginMs && ageMs > marginMs)
}

/** True when a token can be obtained without a person. */
function canRenew(auth: UpstreamAuth, { tokens }: StoredTokens): boolean {
  return auth.kind !== 'authorization_code' || tokens?.refresh_token !== undefined
}

async function renew(
  services: Services,
  owner: TokenOwner,
  target: UpstreamTarget,
  stored: StoredTokens,
  save: TokenStore['save'],
  challenge: Challenge | null,
): Promise<void> {
  await runFlow(services, owner, target, { stored, save, challenge, login: null })
}

/** Runs the SDK's OAuth flow once: discovery, then a token, or the URL where a person logs in. */
export async function runFlow(
  services: Services,
  owner: TokenOwner,
  target: UpstreamTarget,
  flow: {
    stored: StoredTokens
    save: TokenStore['save']
    challenge: Challenge | null
    login: LoginAttempt | null
    /** The parameters of the authorization server's redirect. */
    returned?: { code: string; iss: string | undefined }
  },
): Promise<void> {
  const auth = owner.config.auth ?? openAuth
  const { challenge, login, returned } = flow
  // The flow writes into it.
  const stored = { ...flow.stored }
  const metadataUrl = challenge?.metadataUrl ?? stored.metadataUrl
  const scope = scopeOf(auth, challenge?.scope ?? null, stored)
  const secrets = await authSecrets(services, owner.projectId, auth)
  const provider = providerOf({
    auth: auth,
    secrets: secrets.values,
    stored,
    save: flow.save,
    resource: resourceOf(target, owner.config),
    publicUrl: services.publicUrl(),
    login,
    exchange: (to) => {
      const exchanged = auth as TokenExchange
      const key = exchanged.privateKey === null ? undefined : secrets.values.get(exchanged.privateKey)!
      return exchangeRequest(services, owner, exchanged, key, to)
    },
  })
  try {
    await authorize(provider, {
      serverUrl: target.url,
      fetchFn: authFetch(services, secrets),
      ...(metadataUrl === null ? {} : { resourceMetadataUrl: new URL(metadataUrl) }),
      ...(scope === null ? {} : { scope }),
      ...(returned ? { authorizationCode: returned.code } : {}),
      ...(returned?.iss === undefined ? {} : { iss: returned.iss }),
    })
  } catch (error) {
    const fault = flowFault(error)
    const { projectId, person } = owner
    throw auth.kind === 'token_exchange' && person !== undefined && error instanceof OAuthError
      ? await faultOfSignIn(services, { projectId, person }, error.code, fault)
      : fault
  }
}

/** What is no MCP message here is an answer of the authorization server. */
function flowFault(error: unknown): UpstreamFault {
  const fault = faultOf(error)
  if (fault.code !== 'invalid_response') return fault
  const registers = !(error instanceof Error && /dynamic client registration/i.test(error.message))
  return new UpstreamFault(
    'authorization_failed',
    registers
      ? 'The answer of the authorization server could not be read.'
      : 'The authorization server does not register clients by itself. Register Gatehouse there, and set the client id ' +
          'and the issuer of this upstream (auth.authorizationCode).',
    {},
    error,
  )
}

/** Configured scopes win over the scopes that the server asks for; those are limited to `allowedScopes`. */
function scopeOf(auth: UpstreamAuth, asked: string | null, stored: StoredTokens): string | null {
  const wanted = asked === null ? [] : asked.split(' ').filter(Boolean)
  if (auth.scopes.length > 0) return [...new Set([...auth.scopes, ...stored.wanted])].join(' ')
  const more = [...new Set([...wanted, ...stored.wanted])]
  if (auth.kind !== 'authorization_code' || auth.allowedScopes.length === 0)
    return more.length > 0 ? more.join(' ') : null
  const inside = more.filter((scope) => auth.allowedScopes.includes(scope))
  return (inside.length > 0 ? inside : auth.allowedScopes).join(' ')
}

/** RFC 8707: the server's URL without a fragment, and without a query that holds a secret. */
function resourceOf({ url }: UpstreamTarget, { url: template }: UpstreamConfig): string {
  const resource = new URL(url)
  resource.hash = ''
  if (secretNames(template).length > 0) resource.search = ''
  return resource.href
}

/**
 * Requests a token with the scopes that a call was refused for. Returns when the call may be sent again. Throws an
 * UpstreamFault: `insufficient_scope` when the configuration does not allow these scopes, `authorization_required` when
 * a person must grant them.
 */
export async function stepUp(
  services: Services,
  owner: TokenOwner,
  target: UpstreamTarget,
  scope: string,
): Promise<void> {
  const auth = owner.config.auth ?? openAuth
  const store = databaseTokenStore(services, owner)
  const stored = await store.read()
  const missing = scope.split(' ').filter(Boolean)
  const allowed = auth.kind === 'authorization_code' ? [...auth.scopes, ...auth.allowedScopes] : auth.scopes
  const free = auth.kind !== 'authorization_code' && auth.scopes.length === 0
  if (missing.length === 0 || (!free && !missing.every((one) => allowed.includes(one))))
    throw new UpstreamFault(
      'insufficient_scope',
      'The server requires scopes that this upstream is not allowed to request.',
    )
  // Scopes granted before are requested again: other calls need them.
  const granted = stored.tokens?.scope?.split(' ').filter(Boolean) ?? []
  await store.save({ wanted: [...new Set([...granted, ...stored.wanted, ...missing])] })
  if (auth.kind === 'authorization_code')
    throw new UpstreamFault(
      'authorization_required',
      'The server requires more scopes, which a person must grant: connect this upstream again.',
    )
  await store.exclusively(stored.version, (now, save) =>
    renew(services, owner, target, now, save, { metadataUrl: null, scope }),
  )
}
