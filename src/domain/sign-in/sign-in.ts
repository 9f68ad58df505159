/**
 * Signs people in at the identity provider: OpenID Connect, authorization code flow with PKCE, state and nonce. Nothing
 * is stored for a sign-in under way: state, nonce and verifier are derived from a cookie of the browser that began it.
 */
import { jwtVerify, type JWTPayload } from 'jose'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { type JsonObject, tryParseJson, writeJson } from '../../core/json.ts'
import { newToken, purposeKey, sameText, sign } from '../../core/signing.ts'
import { createHash } from 'node:crypto'
import type { JoinedKey, Principal, Services } from '../access/index.ts'
import {
  algorithms,
  askProvider,
  clockToleranceSeconds,
  type Provider,
  type OidcSettings,
  type SignInClient,
  whoIs,
} from './oidc.ts'

/** How long a sign-in may take, in milliseconds. */
export const signInMs = 10 * 60 * 1000
const longestPath = 1000

/** What a sign-in is for. */
export interface SignInGoal {
  /** The path of this server to which the browser returns at the end. */
  goTo: string
  /** Of several keys that the account has joined, the id of the one to sign in with. */
  as?: string | undefined
  /** The id of an invitation whose code was typed in this browser: the account joins with it. */
  invitation?: string | undefined
  /** The token of the session that the browser had when it began: its cookie does not come back from the provider's site. */
  earlier?: string | undefined
}

/**
 * Who has signed in, or the keys of which the person chooses one: then it begins again, with `as`. `tokens` is the answer of the
 * token endpoint.
 */
export type SignInResult = Pick<SignInGoal, 'goTo' | 'earlier'> & { tokens: JsonObject } & (
    | { principal: Principal }
    | { choices: readonly JoinedKey[] }
  )

/** Where a callback came from, for the audit. */
interface From {
  remoteAddress: string | null
  requestId: string
}

export interface SignIn {
  /**
   * Begins a sign-in: where to send the browser, and the cookie to set in it. Throws UPSTREAM when the provider cannot be
   * reached.
   */
  begin(redirectUri: string, goal: SignInGoal): Promise<{ url: string; cookie: string }>
  /**
   * Ends a sign-in with the parameters of the callback and the cookie of the browser. Claims that name a project win over
   * keys that the account has joined. Throws EXPIRED when this browser did not begin it or took too long, UPSTREAM when the
   * provider refused or sent no valid token, FORBIDDEN when the account has no project, or has one by its claims and
   * would join with an invitation, and CONFLICT when the invitation is not open any more.
   */
  finish(
    redirectUri: string,
    params: URLSearchParams,
    cookie: string | null,
    from: From,
  ): Promise<SignInResult>
}

export function createSignIn(
  services: Services,
  provider: Provider,
  settings: OidcSettings,
  client: SignInClient,
): SignIn {
  return {
    async begin(redirectUri, goal) {
      const { authorization_endpoint: endpoint } = await documentOf(services, provider)
      if (typeof endpoint !== 'string') throw unusable()
      const cookie = cookieOf(services.clock.now(), goal)
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
    async finish(redirectUri, params, cookie, from) {
      const goal = cookie === null ? null : goalOf(cookie, services.clock.now())
      if (cookie === null || goal === null) throw notBegun()
      const { state, nonce, verifier } = derived(services, cookie)
      if (!sameText(params.get('state') ?? '', state)) throw notBegun()
      // RFC 9207: a response of another provider must not be sent to this one.
      const iss = params.get('iss')
      const code = params.get('code')
      if ((iss !== null && iss !== settings.issuer) || code === null) throw refused()
      const exchange = { client, redirectUri, code, verifier, nonce }
      const { claims, tokens } = await claimsOf(services, provider, settings, exchange)
      return {
        goTo: goal.goTo,
        earlier: goal.earlier,
        tokens,
        ...(await whoIs(services, settings, claims, goal, from)),
      }
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

/** A cookie of a new sign-in: when it began, 256 random bits, and what it is for. */
function cookieOf(now: number, { goTo, ...goal }: SignInGoal): string {
  const text = writeJson({ ...goal, goTo: isOwnPath(goTo) ? goTo : '/' })
  return `${now}.${newToken('')}.${Buffer.from(text).toString('base64url')}`
}

/** What the sign-in of a cookie is for; null when it is malformed or too old. Only its state proves that it is ours. */
function goalOf(cookie: string, now: number): SignInGoal | null {
  const [, begun, text] = /^(\d{1,15})\.[\w-]{43}\.([\w-]{1,2000})$/.exec(cookie) ?? []
  if (begun === undefined || now - Number(begun) > signInMs || Number(begun) > now) return null
  const parsed = goalShape.safeParse(tryParseJson(Buffer.from(text!, 'base64url').toString()))
  return parsed.success && isOwnPath(parsed.data.goTo) ? parsed.data : null
}

const goalShape = z.object({
  goTo: z.string(),
  as: z.string().optional(),
  invitation: z.string().optional(),
  earlier: z.string().optional(),
})

/** A changed cookie has another state: the provider returns that of the cookie that was set. */
function derived({ masterKey }: Services, cookie: string) {
  const of = (what: string) => sign(purposeKey(masterKey, 'sign-in'), [what, cookie])
  return { state: of('state'), nonce: of('nonce'), verifier: of('verifier') }
}

function documentOf({ log }: Services, provider: Provider) {
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

/**
 * The tokens that the code is exchanged for, and the verified claims of the ID token, with those of userinfo when it names no
 * project.
 */
async function claimsOf(
  services: Services,
  provider: Provider,
  settings: OidcSettings,
  exchange: Exchange,
): Promise<{ claims: JWTPayload; tokens: JsonObject }> {
  const document = await documentOf(services, provider)
  try {
    const tokens = await provider.requestTokens({
      grant_type: 'authorization_code',
      code: exchange.code,
      redirect_uri: exchange.redirectUri,
      code_verifier: exchange.verifier,
    })
    const claims = await verified(services, provider, settings, exchange, tokens['id_token'])
    if (claims[settings.projectClaim] !== undefined || !document.userinfo_endpoint) return { claims, tokens }
    const authorization = `Bearer ${String(tokens['access_token'])}`
    const more = await askProvider(services, document.userinfo_endpoint, { headers: { authorization } })
    // OpenID Connect Core, 5.3.2: otherwise it is of somebody else.
    if (more['sub'] !== claims.sub) throw new Error('The userinfo response is of another subject.')
    return { claims: { ...more, ...claims }, tokens }
  } catch (error) {
    services.log.warn({ err: error }, 'a sign-in failed at the identity provider')
    throw unusable(error)
  }
}

async function verified(
  { clock }: Services,
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
