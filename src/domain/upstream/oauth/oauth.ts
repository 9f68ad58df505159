/**
 * Gatehouse as the OAuth client of one upstream, in the form that the SDK's flows expect. `save` stores; nothing else
 * does.
 */
import {
  isJsonObject,
  type Json,
  type JsonObject,
  tryParseForeignJson,
  writeJson,
} from '../../../core/json.ts'
import { remakeResponse, runUntracked, wireFetch } from '../wire/wire.ts'
import {
  checkResourceAllowed,
  createPrivateKeyJwtAuth,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/client'
import { withinTime } from '../../../core/time.ts'
import type { Services } from '../../access/index.ts'
import { EgressError } from '../../egress/index.ts'
import { openSecretsAhead, SecretRefusedError } from '../../secrets/index.ts'
import { secretOfAuth, type UpstreamAuth } from '../auth-config.ts'
import { UpstreamFault } from '../fault.ts'
import { isSameIssuer, type ExchangeTarget } from './exchange.ts'
import type { IssuedClient, IssuedTokens, TokenStore, StoredTokens } from './tokens.ts'

/** The response with a body that the SDK accepts, if it is JSON. */
async function readAuthAnswer(response: Response): Promise<Response> {
  if (!response.body) return response
  const text = await response.text()
  const answer = tryParseForeignJson(text)
  return remakeResponse(response, isJsonObject(answer) ? writeJson(readTokens(cleaned(answer))) : text)
}

function cleaned(object: JsonObject): JsonObject {
  const given = Object.entries(object).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(given.map(([name, value]) => [name, cleanedValue(value)]))
}

function cleanedValue(value: Json): Json {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(cleanedValue)
  return isJsonObject(value) ? cleaned(value) : value
}

/** Metadata is left as it is. */
function readTokens(answer: JsonObject): JsonObject {
  const { access_token: token, token_type: type, expires_in: seconds, scope, ...others } = answer
  if (typeof token !== 'string') return answer
  const lifetime = Number(seconds)
  return {
    ...others,
    access_token: token,
    token_type: typeof type === 'string' ? type : 'Bearer',
    // A lifetime that cannot be read is not known.
    ...(Number.isFinite(lifetime) ? { expires_in: lifetime } : {}),
    ...(Array.isArray(scope) ? { scope: scope.join(' ') } : typeof scope === 'string' ? { scope } : {}),
  }
}

export const callbackPath = '/oauth/callback'
/** The page on which a person confirms a login. */
export const loginPath = '/oauth/login'
export const clientDocumentPath = '/oauth/client.json'

/** What the SDK's flow stores for a login between its two halves. */
export interface LoginAttempt {
  state?: string
  verifier?: string
  discovery?: OAuthDiscoveryState
  /** The URL of the authorization server, to which the person is sent. */
  url?: string
}

export interface FlowParts {
  auth: UpstreamAuth
  /** The values of the secrets that `auth` names. */
  secrets: ReadonlyMap<string, string>
  stored: StoredTokens
  save: TokenStore['save']
  /** Sent as `resource` when the server has no metadata. */
  resource: string
  publicUrl: string
  /** Null in the background, where no person can log in. */
  login: LoginAttempt | null
  /** The parameters that exchange a sign-in, for the grant that does so. */
  exchange(target: ExchangeTarget): Promise<URLSearchParams>
}

const maxMetadataBytes = 256 * 1024
const exchangeMs = 10_000

/** The secrets that `auth` names, and the hosts to which they may be sent. */
export interface AuthSecrets {
  values: ReadonlyMap<string, string>
  assertMayGo(address: string | URL): void
}

/** Reads the secrets that `auth` names; throws an UpstreamFault with the name of a missing one. */
export async function authSecrets(
  services: Services,
  projectId: string,
  auth: UpstreamAuth,
): Promise<AuthSecrets> {
  const name = secretOfAuth(auth)
  const opened = await openSecretsAhead(services, projectId, name === null ? [] : [name])
  if (name === null || opened.values.has(name)) return opened
  throw new UpstreamFault('secret_missing', `The secret ${name} that this upstream needs does not exist.`)
}

/**
 * The guarded fetch for metadata, registration and tokens: limited in time and size, without the upstream's headers. A
 * POST may carry credentials, so it goes only to hosts that the secrets allow, and follows no redirect.
 */
export function authFetch(
  services: Services,
  secrets: Pick<AuthSecrets, 'assertMayGo'>,
): typeof globalThis.fetch {
  const fetch = wireFetch(services.egress, maxMetadataBytes)
  return async (input, init) => {
    const signal = withinTime(exchangeMs, init?.signal)
    const posts = (init?.method ?? 'GET').toUpperCase() !== 'GET'
    try {
      if (posts) secrets.assertMayGo(input instanceof Request ? input.url : input)
      const redirect = posts ? { redirect: 'manual' as const } : {}
      const response = await runUntracked(() => fetch(input, { ...init, ...redirect, signal }))
      return await readAuthAnswer(response)
    } catch (error) {
      if (error instanceof SecretRefusedError) throw new UpstreamFault('secret_refused', error.message)
      // After any error but a TypeError the SDK tries the next metadata URL; a refused address must end the search.
      const refused =
        error instanceof EgressError && ['BLOCKED_ADDRESS', 'BLOCKED_NAME', 'BAD_URL'].includes(error.code)
      throw refused ? new TypeError(error.message, { cause: error }) : error
    }
  }
}

/** The metadata of Gatehouse as an OAuth client, for dynamic registration and the client metadata document. */
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
  const { auth, stored, save } = parts
  const shared = {
    tokens: () => (parts.login ? undefined : (stored.tokens ?? undefined)),
    async saveTokens(tokens: IssuedTokens) {
      // RFC 8693, 2.2.1: N_A is no token for a server.
      if (tokens.token_type.toLowerCase() !== 'bearer')
        throw new UpstreamFault(
          'authorization_failed',
          'The authorization server issued a token that is no bearer token.',
        )
      stored.tokens = tokens
      await save({ tokens, wanted: [] })
    },
    // Called before anything is sent to an authorization server, with the issuer that its metadata names.
    saveAuthorizationServerUrl: (issuer: string) => assertIssuer(auth.issuer, issuer),
    validateResourceURL: async (_server: string | URL, named?: string) =>
      // The SDK sends a string unchanged, but appends a slash to a URL, which the server may not recognize.
      auth.omitResource ? undefined : (resourceOf(parts.resource, named) as unknown as URL),
  }
  return auth.kind === 'authorization_code'
    ? { ...shared, ...interactive(parts, auth) }
    : { ...shared, ...unattended(parts, auth) }
}

/** The grants that need no browser: each token is requested with the client's own credentials. */
function unattended(
  { secrets, exchange }: FlowParts,
  auth: Exclude<UpstreamAuth, { kind: 'authorization_code' }>,
): Omit<OAuthClientProvider, 'tokens' | 'saveTokens'> {
  const { clientId: client_id, issuer } = auth
  const secret = secrets.get(secretOfAuth(auth)!)!
  const signs = 'privateKey' in auth && auth.privateKey !== null
  const target: ExchangeTarget = { issuer, metadata: undefined, resource: undefined, scope: undefined }
  return {
    redirectUrl: undefined,
    clientMetadata: {
      client_name: 'Gatehouse',
      redirect_uris: [],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: signs ? 'private_key_jwt' : 'client_secret_basic',
      ...(auth.scopes.length > 0 ? { scope: auth.scopes.join(' ') } : {}),
    },
    clientInformation: () => (signs ? { client_id, issuer } : { client_id, client_secret: secret, issuer }),
    ...(signs
      ? {
          addClientAuthentication: createPrivateKeyJwtAuth({
            issuer: client_id,
            subject: client_id,
            privateKey: secret,
            alg: auth.algorithm!,
          }),
        }
      : {}),
    saveDiscoveryState({ authorizationServerMetadata: metadata, authorizationServerUrl }) {
      Object.assign(target, { metadata, issuer: metadata?.issuer ?? authorizationServerUrl })
    },
    saveResourceUrl(resource) {
      target.resource = String(resource)
    },
    prepareTokenRequest(scope) {
      if (auth.kind === 'token_exchange') return exchange({ ...target, scope })
      const params = new URLSearchParams({ grant_type: 'client_credentials' })
      if (scope) params.set('scope', scope)
      return params
    },
    redirectToAuthorization: requireLogin,
    saveCodeVerifier() {},
    codeVerifier: () => '',
  }
}

function interactive(
  { secrets, stored, save, publicUrl, login }: FlowParts,
  auth: Extract<UpstreamAuth, { kind: 'authorization_code' }>,
): Omit<OAuthClientProvider, 'tokens' | 'saveTokens'> {
  const secret = auth.clientSecret === null ? {} : { client_secret: secrets.get(auth.clientSecret)! }
  const own =
    auth.clientId === null
      ? {
          clientInformation: () => stored.client ?? undefined,
          async saveClientInformation(client: IssuedClient) {
            stored.client = client
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
      if (!login) return requireLogin()
      login.url = url.href
    },
    discoveryState: () => login?.discovery,
    saveDiscoveryState(discovery) {
      assertProofKeys(discovery)
      if (login) login.discovery = discovery
    },
    async invalidateCredentials(what) {
      if (what === 'client' || what === 'all') {
        stored.client = null
        await save({ client: null })
      }
      if (what === 'tokens' || what === 'all') {
        stored.tokens = null
        await save({ tokens: null })
      }
    },
  }
}

function requireLogin(): never {
  throw new UpstreamFault('authorization_required', 'A person must log in: connect this upstream.')
}

function assertIssuer(expected: string | null, found: string): void {
  if (expected === null || isSameIssuer(expected, found)) return
  throw new UpstreamFault(
    'issuer_mismatch',
    'The server names another authorization server than the one that is configured. Nothing was sent to it.',
  )
}

/** The `resource` to request tokens for: as the server's metadata spells it, when it covers the upstream's own URL. */
function resourceOf(own: string, named: string | undefined): string {
  if (named === undefined) return own
  const covered = new URL(own)
  // A slash at the end makes no difference.
  if (!covered.pathname.endsWith('/')) covered.pathname += '/'
  if (URL.canParse(named) && checkResourceAllowed({ requestedResource: covered, configuredResource: named }))
    return named
  throw new UpstreamFault(
    'authorization_failed',
    'The metadata of the server describes another server. Nothing was sent to its authorization server.',
  )
}

/** Requires that the authorization server declares PKCE (MCP specification, authorization). */
function assertProofKeys({ authorizationServerMetadata: metadata }: OAuthDiscoveryState): void {
  if (!metadata || metadata.code_challenge_methods_supported?.includes('S256')) return
  throw new UpstreamFault(
    'authorization_failed',
    'The authorization server does not offer PKCE (S256), without which logins are not safe.',
  )
}
