/**
 * Signs people in at the identity provider: OpenID Connect, authorization code flow with PKCE, state and nonce. Nothing
 * is stored for a sign-in under way: state, nonce and verifier are derived from a cookie of the browser that began it.
 */
import { jwtVerify, type JWTPayload } from 'jose'
import { AppError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { newToken, purposeKey, sameText, sign } from '../../core/signing.ts'
import { createHash } from 'node:crypto'
import { type Principal, type Services } from '../access/index.ts'
import { algorithms, clockToleranceSeconds, type Provider } from './oidc-provider.ts'
import { principalOfClaims, type OidcSettings } from './oidc.ts'

/** How long a sign-in may take, in milliseconds. */
export const signInMs = 10 * 60 * 1000
const requestTimeoutMs = 10_000
const longestPath = 1000

/** How this server is registered at the identity provider. */
export interface SignInClient {
  id: string
  /** Null for a public client. */
  secret: string | null
  /** The scopes to ask for, separated by spaces. */
  scopes: string
}

export interface SignIn {
  /**
   * Begins a sign-in: where to send the browser, and the cookie to set in it. `goTo` is the path of this server to which
   * it returns at the end. Throws UPSTREAM when the provider cannot be reached.
   */
  begin(redirectUri: string, goTo: string): Promise<{ url: string; cookie: string }>
  /**
   * Ends a sign-in with the parameters of the callback and the cookie of the browser. Throws EXPIRED when this browser
   * did not begin it or took too long, UPSTREAM when the provider refused or sent no valid token, FORBIDDEN when the
   * token names no project.
   */
  finish(
    redirectUri: string,
    params: URLSearchParams,
    cookie: string | null,
  ): Promise<{ principal: Principal; goTo: string }>
}

type SignInServices = Pick<Services, 'db' | 'egress' | 'clock' | 'log' | 'masterKey'>

export function createSignIn(
  services: SignInServices,
  provider: Provider,
  settings: OidcSettings,
  client: SignInClient,
): SignIn {
  return {
    async begin(redirectUri, goTo) {
      const { authorization_endpoint: endpoint } = await documentOf(services, provider)
      if (typeof endpoint !== 'string') throw unusable()
      const cookie = cookieOf(services.clock.now(), goTo)
      const { state, nonce, verifier } = derived(services, cookie)
      const url = new URL(endpoint)
      const params = {
        response_type: 'code',
        client_id: client.id,
        redirect_uri: redirectUri,
        scope: client.scopes,
        state,
        nonce,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      }
      for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
      return { url: url.href, cookie }
    },
    async finish(redirectUri, params, cookie) {
      const goTo = cookie === null ? null : pathOf(cookie, services.clock.now())
      if (cookie === null || goTo === null) throw notBegun()
      const { state, nonce, verifier } = derived(services, cookie)
      if (!sameText(params.get('state') ?? '', state)) throw notBegun()
      // RFC 9207: a response of another provider must not be sent to this one.
      const from = params.get('iss')
      const code = params.get('code')
      if ((from !== null && from !== settings.issuer) || code === null) throw refused()
      const exchange = { client, redirectUri, code, verifier, nonce }
      const claims = await claimsOf(services, provider, settings, exchange)
      const principal = await principalOfClaims(services, settings, claims)
      if (!principal)
        throw new AppError(
          'FORBIDDEN',
          `Your account has no project here: its claim ${settings.projectClaim} names none that exists, or ` +
            `${settings.roleClaim} is no role.`,
          { action: 'sessions:Start' },
        )
      return { principal, goTo }
    },
  }
}

function notBegun(): AppError {
  return new AppError('EXPIRED', 'This sign-in was not begun in this browser, or took too long. Begin again.')
}

function refused(): AppError {
  return new AppError('UPSTREAM', 'The identity provider refused, or you declined. Begin again to retry.')
}

function unusable(cause?: unknown): AppError {
  return new AppError(
    'UPSTREAM',
    'The identity provider could not be reached, or sent no valid answer. Try again later.',
    {},
    cause,
  )
}

/** Whether a path leads to a page of this server: browsers take `//` and `/\` for another host. */
function isOwnPath(path: string): boolean {
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(path) && path.length <= longestPath
}

/** A cookie of a new sign-in: when it began, 256 random bits, and the path to return to. */
function cookieOf(now: number, goTo: string): string {
  const path = isOwnPath(goTo) ? goTo : '/'
  return `${now}.${newToken('')}.${Buffer.from(path).toString('base64url')}`
}

/** The path in a cookie; null when it is malformed or too old. */
function pathOf(cookie: string, now: number): string | null {
  const [, begun, path] = /^(\d{1,15})\.[\w-]{43}\.([\w-]{1,1400})$/.exec(cookie) ?? []
  if (begun === undefined || now - Number(begun) > signInMs || Number(begun) > now) return null
  const goTo = Buffer.from(path!, 'base64url').toString()
  return isOwnPath(goTo) ? goTo : null
}

/** A changed cookie has another state: the provider returns that of the cookie that was set. */
function derived({ masterKey }: SignInServices, cookie: string) {
  const of = (what: string) => sign(purposeKey(masterKey, 'sign-in'), [what, cookie])
  return { state: of('state'), nonce: of('nonce'), verifier: of('verifier') }
}

function documentOf({ log }: SignInServices, provider: Provider) {
  return provider.document().catch((error: unknown) => {
    log.warn({ err: error }, 'the identity provider could not be discovered')
    throw unusable(error)
  })
}

interface Exchange {
  client: SignInClient
  redirectUri: string
  code: string
  verifier: string
  nonce: string
}

/** The verified claims of the ID token that the code is exchanged for, with those of userinfo when it names no project. */
async function claimsOf(
  services: SignInServices,
  provider: Provider,
  settings: OidcSettings,
  exchange: Exchange,
): Promise<JWTPayload> {
  const document = await documentOf(services, provider)
  try {
    const methods = document.token_endpoint_auth_methods_supported
    const tokens = await ask(services, document.token_endpoint, tokenRequest(exchange, methods))
    const claims = await verified(services, provider, settings, exchange, tokens['id_token'])
    if (claims[settings.projectClaim] !== undefined || !document.userinfo_endpoint) return claims
    const authorization = `Bearer ${String(tokens['access_token'])}`
    const more = await ask(services, document.userinfo_endpoint, { headers: { authorization } })
    // OpenID Connect Core, 5.3.2: otherwise it is of somebody else.
    if (more['sub'] !== claims.sub) throw new Error('The userinfo response is of another subject.')
    return { ...more, ...claims }
  } catch (error) {
    services.log.warn({ err: error }, 'a sign-in failed at the identity provider')
    throw unusable(error)
  }
}

function tokenRequest({ client, redirectUri, code, verifier }: Exchange, methods: unknown): RequestInit {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  })
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

async function ask({ egress }: SignInServices, url: unknown, init: RequestInit): Promise<JsonObject> {
  if (typeof url !== 'string') throw new Error('The discovery document lacks an endpoint.')
  const signal = AbortSignal.timeout(requestTimeoutMs)
  const response = await egress.fetch(url, { ...init, redirect: 'error', signal })
  const body: unknown = await response.json()
  if (!response.ok || !isJsonObject(body))
    throw new Error(`The identity provider responded ${response.status}.`)
  return body
}

async function verified(
  { clock }: SignInServices,
  provider: Provider,
  settings: OidcSettings,
  { client, nonce }: Exchange,
  token: unknown,
): Promise<JWTPayload> {
  const { payload } = await jwtVerify(String(token), await provider.keys(), {
    issuer: settings.issuer,
    audience: client.id,
    algorithms,
    requiredClaims: ['exp', 'iat', 'sub', 'aud'],
    clockTolerance: clockToleranceSeconds,
    currentDate: new Date(clock.now()),
  })
  const isNonce = typeof payload['nonce'] === 'string' && sameText(payload['nonce'], nonce)
  const forOthers = Array.isArray(payload.aud) && payload.aud.length > 1 && payload['azp'] !== client.id
  if (!isNonce || forOthers) throw new Error('The ID token is of another sign-in, or for another client.')
  return payload
}
