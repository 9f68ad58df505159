/** We as an OAuth client of one upstream, in the shape that the SDK's flows want. Nothing here is stored by itself. */
import {
  checkResourceAllowed,
  createPrivateKeyJwtAuth,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/client'
import type { Services } from '../access/index.ts'
import { EgressError } from '../egress/index.ts'
import { openSecretsAhead, SecretRefusedError } from '../secrets/index.ts'
import type { UpstreamAuth } from './config.ts'
import { UpstreamFault } from './fault.ts'
import type { IssuedClient, IssuedTokens, Keeper, Kept } from './tokens.ts'
import { unwatched, wireFetch } from './wire.ts'

export const callbackPath = '/oauth/callback'
/** Where a person confirms a login. */
export const loginPath = '/oauth/login'
export const clientDocumentPath = '/oauth/client.json'

/** A login on its way to, or back from, an authorization server. */
export interface LoginLeg {
  state?: string
  verifier?: string
  discovery?: OAuthDiscoveryState
  /** Where the person has to go. */
  url?: string
}

export interface FlowParts {
  auth: UpstreamAuth
  /** Values of the secrets that `auth` names. */
  secrets: ReadonlyMap<string, string>
  kept: Kept
  save: Keeper['save']
  /** Sent as `resource` where the server has no metadata of its own. */
  resource: string
  publicUrl: string
  /** Null in the background, where nobody can log in. */
  login: LoginLeg | null
}

const maxMetadataBytes = 256 * 1024
const exchangeMs = 10_000

/** The secrets that a way to authorize needs, and where what proves them may be sent. */
export interface AuthSecrets {
  values: ReadonlyMap<string, string>
  assertMayGo(address: string | URL): void
}

/** The secrets that the way to authorize needs; an UpstreamFault names one that is missing. */
export async function authSecrets(
  services: Services,
  projectId: string,
  auth: UpstreamAuth,
): Promise<AuthSecrets> {
  const name = auth.kind === 'private_key_jwt' ? auth.privateKey : auth.clientSecret
  const opened = await openSecretsAhead(services, projectId, name === null ? [] : [name])
  if (name === null || opened.values.has(name)) return opened
  throw new UpstreamFault('secret_missing', `The secret ${name} that this upstream needs does not exist.`)
}

/**
 * The guarded fetch for metadata, registrations and tokens: bounded in time and size, without the upstream's headers. What
 * is posted may prove who we are, so it goes only where the secrets may, and follows no redirect.
 */
export function authFetch(
  services: Services,
  secrets: Pick<AuthSecrets, 'assertMayGo'>,
): typeof globalThis.fetch {
  const fetch = wireFetch(services.egress, maxMetadataBytes)
  return async (input, init) => {
    const limit = AbortSignal.timeout(exchangeMs)
    const signal = init?.signal ? AbortSignal.any([limit, init.signal]) : limit
    const posts = (init?.method ?? 'GET').toUpperCase() !== 'GET'
    try {
      if (posts) secrets.assertMayGo(input instanceof Request ? input.url : input)
      const redirect = posts ? { redirect: 'manual' as const } : {}
      return await unwatched(() => fetch(input, { ...init, ...redirect, signal }))
    } catch (error) {
      if (error instanceof SecretRefusedError) throw new UpstreamFault('secret_refused', error.message)
      // The SDK goes on looking elsewhere after any error but this one; an address that we refuse ends the search.
      const refused =
        error instanceof EgressError && ['BLOCKED_ADDRESS', 'BLOCKED_NAME', 'BAD_URL'].includes(error.code)
      throw refused ? new TypeError(error.message, { cause: error }) : error
    }
  }
}

/** What we say of ourselves to an authorization server that does not know us. */
export function clientMetadata(publicUrl: string): OAuthClientMetadata {
  return {
    client_name: 'Gatehouse',
    client_uri: publicUrl,
    redirect_uris: [publicUrl + callbackPath],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}

export function providerOf(parts: FlowParts): OAuthClientProvider {
  const { auth, kept, save } = parts
  const shared = {
    tokens: () => (parts.login ? undefined : (kept.tokens ?? undefined)),
    async saveTokens(tokens: IssuedTokens) {
      kept.tokens = tokens
      await save({ tokens, wanted: [] })
    },
    // Called before anything is sent to an authorization server, with the issuer that its metadata names.
    saveAuthorizationServerUrl: (issuer: string) => assertIssuer(auth.issuer, issuer),
    validateResourceURL: async (_server: string | URL, named?: string) =>
      // The SDK sends a text as it is, and a URL with a slash that the server may not know; its type names only the URL.
      resourceOf(parts.resource, named) as unknown as URL,
  }
  return auth.kind === 'authorization_code'
    ? { ...shared, ...interactive(parts, auth) }
    : { ...shared, ...unattended(parts, auth) }
}

/** The two ways that need no person: every token is asked for anew. */
function unattended(
  { secrets }: FlowParts,
  auth: Exclude<UpstreamAuth, { kind: 'authorization_code' }>,
): Omit<OAuthClientProvider, 'tokens' | 'saveTokens'> {
  const { clientId: client_id, issuer } = auth
  const signs = auth.kind === 'private_key_jwt'
  return {
    redirectUrl: undefined,
    clientMetadata: {
      client_name: 'Gatehouse',
      redirect_uris: [],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: signs ? 'private_key_jwt' : 'client_secret_basic',
      ...(auth.scopes.length > 0 ? { scope: auth.scopes.join(' ') } : {}),
    },
    clientInformation: () =>
      signs ? { client_id, issuer } : { client_id, client_secret: secrets.get(auth.clientSecret)!, issuer },
    ...(signs
      ? {
          addClientAuthentication: createPrivateKeyJwtAuth({
            issuer: client_id,
            subject: client_id,
            privateKey: secrets.get(auth.privateKey)!,
            alg: auth.algorithm,
          }),
        }
      : {}),
    prepareTokenRequest(scope) {
      const params = new URLSearchParams({ grant_type: 'client_credentials' })
      if (scope) params.set('scope', scope)
      return params
    },
    redirectToAuthorization: needsPerson,
    saveCodeVerifier() {},
    codeVerifier: () => '',
  }
}

function interactive(
  { secrets, kept, save, publicUrl, login }: FlowParts,
  auth: Extract<UpstreamAuth, { kind: 'authorization_code' }>,
): Omit<OAuthClientProvider, 'tokens' | 'saveTokens'> {
  const secret = auth.clientSecret === null ? {} : { client_secret: secrets.get(auth.clientSecret)! }
  const own =
    auth.clientId === null
      ? {
          clientInformation: () => kept.client ?? undefined,
          async saveClientInformation(client: IssuedClient) {
            kept.client = client
            await save({ client })
          },
          ...(publicUrl.startsWith('https:') ? { clientMetadataUrl: publicUrl + clientDocumentPath } : {}),
        }
      : {
          clientInformation: (context?: { issuer?: string }) => ({
            client_id: auth.clientId!,
            ...secret,
            issuer: auth.issuer ?? context?.issuer,
          }),
        }
  return {
    ...own,
    redirectUrl: publicUrl + callbackPath,
    clientMetadata: clientMetadata(publicUrl),
    ...(login?.state === undefined ? {} : { state: () => login.state! }),
    saveCodeVerifier(verifier) {
      if (login) login.verifier = verifier
    },
    codeVerifier: () => login?.verifier ?? '',
    redirectToAuthorization(url) {
      if (!login) return needsPerson()
      login.url = url.href
    },
    discoveryState: () => login?.discovery,
    saveDiscoveryState(discovery) {
      assertProofKeys(discovery)
      if (login) login.discovery = discovery
    },
    async invalidateCredentials(what) {
      if (what === 'client' || what === 'all') {
        kept.client = null
        await save({ client: null })
      }
      if (what === 'tokens' || what === 'all') {
        kept.tokens = null
        await save({ tokens: null })
      }
    },
  }
}

function needsPerson(): never {
  throw new UpstreamFault('authorization_required', 'A person has to log in: connect this upstream.')
}

/** One slash at the end is no difference (RFC 8414, section 3.3, and what servers do). */
function assertIssuer(expected: string | null, found: string): void {
  const bare = (issuer: string) => issuer.replace(/\/$/, '')
  if (expected === null || bare(expected) === bare(found)) return
  throw new UpstreamFault(
    'issuer_mismatch',
    'The server names another authorization server than the one that is configured. Nothing was sent to it.',
  )
}

/** The resource that tokens are asked for: as the server spells it, when it speaks of itself and not of another. */
function resourceOf(own: string, named: string | undefined): string {
  if (named === undefined) return own
  if (URL.canParse(named) && checkResourceAllowed({ requestedResource: own, configuredResource: named }))
    return named
  throw new UpstreamFault(
    'authorization_failed',
    'The metadata of the server speaks of another server. Nothing was sent to its authorization server.',
  )
}

/** A server that does not say that it knows PKCE is not gone to (specification, authorization, "PKCE"). */
function assertProofKeys({ authorizationServerMetadata: metadata }: OAuthDiscoveryState): void {
  if (!metadata || metadata.code_challenge_methods_supported?.includes('S256')) return
  throw new UpstreamFault(
    'authorization_failed',
    'The authorization server does not offer PKCE (S256), without which logins are not safe.',
  )
}
