/** An OpenID provider: what it publishes, its verified JWTs, and who their claims make the one who signed in. */
import {
  createRemoteJWKSet,
  customFetch,
  type JWTVerifyGetKey,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyOptions,
} from 'jose'
import {
  type Services,
  type Account,
  type Principal,
  type Role,
  type TokenVerifier,
  keepSubject,
  roles,
  joinInvitation,
  keysOfAccount,
  type JoinedKey,
  type IdentityProvider,
  TokenRefusedError,
} from '../access/index.ts'
import { BoundedMap } from '../../core/bounded.ts'
import { sha256Hex } from '../../core/signing.ts'
import { canonicalText, shortText } from '../../core/text.ts'
import { AppError } from '../../core/errors.ts'
import { isJsonObject, textIfAny, type JsonObject } from '../../core/json.ts'

/** Asymmetric signatures only: with a shared secret, this server could forge tokens. */
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
]
/** How far the clocks may differ, in seconds. */
export const clockToleranceSeconds = 5
const discoveryTimeoutMs = 5000

/** The discovery document, as far as it is used. */
export interface ProviderDocument {
  issuer: string
  jwks_uri?: unknown
  authorization_endpoint?: unknown
  token_endpoint?: unknown
  userinfo_endpoint?: unknown
  token_endpoint_auth_methods_supported?: unknown
}

/** How this server is registered at the identity provider. */
export interface SignInClient {
  id: string
  /** Null for a public client. */
  secret: string | null
  /** The scopes to ask for, separated by spaces. */
  scopes: string
}

export interface Provider extends IdentityProvider {
  keys(): Promise<JWTVerifyGetKey>
  /** Throws when it cannot be read or is of another issuer; the next call tries again. */
  document(): Promise<ProviderDocument>
}

/** With `jwksUrl` the keys are read without discovery. */
export function createProvider(
  services: Pick<Services, 'egress'>,
  { issuer, jwksUrl, client, exchangeIssuers }: ProviderSettings,
): Provider {
  const { egress } = services
  const document = onceRead(async () => {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    const response = await egress.fetch(url, { signal: AbortSignal.timeout(discoveryTimeoutMs) })
    const found = (await response.json()) as ProviderDocument
    if (found.issuer !== issuer) throw new Error('The discovery document has another issuer.')
    return found
  })
  const keys = onceRead(async () => {
    const url = jwksUrl ?? (await document()).jwks_uri
    if (typeof url !== 'string') throw new Error('The discovery document has no jwks_uri.')
    const fetch = (address: string, options: object) => egress.fetch(address, options)
    return createRemoteJWKSet(new URL(url), { [customFetch]: fetch })
  })
  return {
    issuer,
    exchangeIssuers,
    signsIn: client !== null,
    keys,
    document,
    async requestTokens(parameters) {
      if (!client) throw new Error('This server is no client of the identity provider.')
      const found = await document()
      const methods = found.token_endpoint_auth_methods_supported
      return askProvider(services, found.token_endpoint, tokenRequest(client, parameters, methods))
    },
    async accepts(accessToken) {
      try {
        const { userinfo_endpoint: url } = await document()
        const headers = { authorization: `Bearer ${accessToken}` }
        await askProvider(services, url, { headers })
        return true
      } catch (error) {
        return error instanceof TokenRefusedError && error.status === 401 ? false : null
      }
    },
  }
}

interface ProviderSettings {
  issuer: string
  jwksUrl: string | null
  /** Null: people cannot sign in. */
  client: SignInClient | null
  exchangeIssuers: readonly string[]
}

const requestTimeoutMs = 10_000

/** Asks an endpoint of the provider; throws a TokenRefusedError unless it answers with a JSON object. */
export async function askProvider(
  { egress }: Pick<Services, 'egress'>,
  url: unknown,
  init: RequestInit,
): Promise<JsonObject> {
  if (typeof url !== 'string') throw new Error('The discovery document lacks an endpoint.')
  const signal = AbortSignal.timeout(requestTimeoutMs)
  const response = await egress.fetch(url, { ...init, redirect: 'error', signal })
  const body: unknown = await response.json().catch(() => null)
  if (response.ok && isJsonObject(body)) return body
  const error = (isJsonObject(body) && textIfAny(body['error'])) || ''
  throw new TokenRefusedError(response.status, /^[a-z_]{1,60}$/.test(error) ? error : '')
}

function tokenRequest(
  client: SignInClient,
  parameters: Record<string, string>,
  methods: unknown,
): RequestInit {
  const body = new URLSearchParams(parameters)
  const headers: Record<string, string> = { accept: 'application/json' }
  // RFC 6749, 2.3.1: the header is the default; the body only where the provider wants it.
  const inBody = Array.isArray(methods) && !methods.includes('client_secret_basic')
  if (client.secret !== null && !inBody) {
    const pair = [client.id, client.secret].map(encodeURIComponent).join(':')
    headers['authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`
  } else {
    body.set('client_id', client.id)
    if (client.secret !== null) body.set('client_secret', client.secret)
  }
  return { method: 'POST', headers, body }
}

/** The result of the first read that succeeds. */
function onceRead<T>(read: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | null = null
  return () =>
    (found ??= read().catch((error: unknown) => {
      found = null
      throw error
    }))
}

/** The trusted identity provider, and the meaning of its claims. */
export interface OidcSettings extends ProviderSettings {
  /** The exact value of `iss`. */
  issuer: string
  /** Accepted values of `aud`, beside the URL of the endpoint that is called. */
  audiences: string[]
  /** The URL of its keys (JWKS); null: the one in its discovery document. */
  jwksUrl: string | null
  /** The claim with the id of the project. */
  projectClaim: string
  /** The claim with the role; `caller` when the token has none. */
  roleClaim: string
}

/** How long the result of a verification is cached, in milliseconds, but not after the token expires. */
const cacheMs = 30_000
const cacheSize = 10_000
/** OpenID Connect Core, section 2: `sub` has at most 255 characters. */
const longestSubject = 255

/**
 * Verifies signature, issuer, audience and expiry. Project and role come from claims, never from headers. `keep` gets each
 * token that was verified anew, with its principal.
 */
export function createTokenVerifier(
  services: Pick<Services, 'db' | 'egress' | 'clock' | 'log'>,
  settings: OidcSettings,
  keep: (principal: Principal, token: string) => Promise<void> = async () => {},
): TokenVerifier {
  const provider = createProvider(services, settings)
  const cache = new BoundedMap<string, { principal: Principal; until: number }>(cacheSize)
  const valid = new Set<string>()
  const check = async (token: string, resources: readonly string[]): Promise<Principal | null> => {
    const options: JWTVerifyOptions = {
      issuer: settings.issuer,
      audience: [...settings.audiences, ...resources],
      algorithms,
      requiredClaims: ['exp', 'sub', 'aud'],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(services.clock.now()),
    }
    const payload = await jwtVerify(token, await provider.keys(), options).then(
      (verified) => verified.payload,
      (error: unknown) => {
        services.log.debug({ err: error }, 'a token was refused')
        return null
      },
    )
    return payload ? principalOfClaims(services, settings, payload) : null
  }
  return {
    async verify(token, resources) {
      const key = sha256Hex(`${resources.join(' ')}\n${token}`)
      const now = services.clock.now()
      const known = cache.get(key)
      if (known && known.until > now) return known.principal
      const principal = await check(token, resources)
      if (!principal) return null
      await keep(principal, token)
      if (valid.size >= cacheSize) valid.clear()
      valid.add(sha256Hex(token))
      cache.set(key, { principal, until: Math.min(now + cacheMs, principal.expiresAt!.getTime()) })
      return principal
    },
    isKnown: (token) => valid.has(sha256Hex(token)),
  }
}

/**
 * The principal of verified claims, with the project and role that they name; its person is stored. Null when the claims
 * name no project that exists, or no role.
 */
async function principalOfClaims(
  services: Pick<Services, 'db'>,
  settings: OidcSettings,
  payload: JWTPayload,
): Promise<Principal | null> {
  const projectId = payload[settings.projectClaim]
  const role = payload[settings.roleClaim] ?? 'caller'
  if (typeof projectId !== 'string' || !roles.includes(role as Role)) return null
  const account = accountOf(settings, payload)
  if (!account) return null
  const expiresAt = new Date(payload.exp! * 1000)
  return keepSubject(services.db, { ...account, projectId, role: role as Role, expiresAt })
}

/** Who verified claims are about; null when they have no usable `sub`. */
export function accountOf({ issuer }: OidcSettings, payload: JWTPayload): Account | null {
  const { sub } = payload
  if (typeof sub !== 'string' || sub.trim() === '' || sub.length > longestSubject) return null
  // One that cannot be stored as it is would be another person's.
  if (sub !== canonicalText(sub)) return null
  const names = [payload['name'], payload['email'], sub]
  const name = names.find((one): one is string => typeof one === 'string' && one.trim() !== '')!
  return { issuer, subject: sub, name: shortText(name, 100) }
}

/** What the sign-in is for, and where it came from. */
interface Goal {
  as?: string | undefined
  invitation?: string | undefined
}
interface From {
  remoteAddress: string | null
  requestId: string
}

/**
 * Claims that name a project say who it is. Else the account joins with the invitation, or is the holder of the key that it
 * has joined before; of several the one that was asked for, or all to choose from. FORBIDDEN and CONFLICT as `finish`.
 */
export async function whoIs(
  services: Services,
  settings: OidcSettings,
  claims: JWTPayload,
  { as, invitation }: Goal,
  from: From,
): Promise<{ principal: Principal } | { choices: readonly JoinedKey[] }> {
  const hasProject = (claims[settings.projectClaim] ?? null) !== null
  const account = accountOf(settings, claims)
  if (invitation !== undefined) {
    if (hasProject || !account) throw cannotJoin(settings, hasProject)
    const { principal } = await joinInvitation(services, { id: invitation, account, ...from })
    return { principal }
  }
  if (hasProject || !account) {
    const principal = await principalOfClaims(services, settings, claims)
    if (principal) return { principal }
    throw nowhere(settings)
  }
  const keys = await keysOfAccount(services.db, account)
  const [only] = keys.length === 1 ? keys : keys.filter(({ principal }) => principal.id === as)
  if (only) return { principal: only.principal }
  if (keys.length === 0) throw nowhere(settings)
  return { choices: keys }
}

function nowhere({ projectClaim, roleClaim }: OidcSettings): AppError {
  return new AppError(
    'FORBIDDEN',
    `Your account has no project here: its claim ${projectClaim} names none that exists, or ${roleClaim} is no role, ` +
      'and no invitation that it has joined lasts.',
    { action: 'sessions:Start' },
  )
}

function cannotJoin({ projectClaim }: OidcSettings, hasProject: boolean): AppError {
  return new AppError(
    'FORBIDDEN',
    hasProject
      ? `Your account has its project by its claim ${projectClaim}, which wins over an invitation. Open the link again and ` +
          'make a key, or sign in without the invitation.'
      : 'Your account has no usable subject. Open the link again and make a key.',
    { action: 'sessions:Start' },
  )
}
