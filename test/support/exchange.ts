/**
 * Authorization servers that exchange sign-ins: the grants of an identity provider (oidc-provider checks its clients and tokens),
 * and one of our own that trusts another issuer, by its tokens or by the assertions of the identity provider (ID-JAG).
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import {
  createRemoteJWKSet,
  exportJWK,
  generateKeyPair,
  importJWK,
  jwtVerify,
  SignJWT,
  type JWTPayload,
} from 'jose'
import type { ProviderMore } from './identity-provider.ts'
import { startLoopback } from './loopback.ts'

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const assertionProfile = 'urn:ietf:params:oauth:grant-profile:id-jag'
const typeOf = (name: string) => `urn:ietf:params:oauth:token-type:${name}`

export const exchanger = { id: 'exchanger', secret: 'another-secret-of-32-characters-or-more' }
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
/** The key of the client `signer`, as PEM; ES256. */
export const signerKey = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const signerJwk = () => exportJWK(keys.publicKey)

/** One token request, as the server judged it. */
export interface Exchanged {
  subject: string
  resource: string
  audience: string | undefined
  scope: string | undefined
  /** The `act` claim of the issued token. */
  act: unknown
}

/** What the next exchanges do. */
export interface Exchanges {
  done: Exchanged[]
  /** The OAuth error with which all are refused. */
  refusal: string | null
  /** The OAuth error with which a token that is not good any more is refused. */
  ending: string
  /** What an assertion is called in the answer. */
  issuedAs: string
  /** The lifetime of what is issued, in seconds. */
  ttl: number
}

export const newExchanges = (): Exchanges => ({
  done: [],
  refusal: null,
  ending: 'invalid_request',
  issuedAs: 'id-jag',
  ttl: 300,
})

/** The actors of a token: who requested it, and those that its actor token names. Throws for a token that its client has not signed. */
async function actOf(actorToken: string | undefined, client: string, issuer: string): Promise<object> {
  if (actorToken === undefined) return { sub: client }
  const key = await importJWK(await signerJwk(), 'ES256')
  const { payload } = await jwtVerify(actorToken, key, { issuer: client, subject: client, audience: issuer })
  return { sub: client, ...(payload['act'] ? { act: payload['act'] } : {}) }
}

/**
 * The clients and the grant with which an identity provider exchanges its tokens: access tokens for tokens of a resource, and ID
 * tokens for assertions. Refresh tokens are issued too where `renews`.
 */
export async function exchangesAt(
  issuer: string,
  exchanges: Exchanges,
  renews = false,
): Promise<ProviderMore> {
  return {
    grantTypes: ['authorization_code', exchangeGrant, ...(renews ? ['refresh_token'] : [])],
    clients: [
      {
        client_id: exchanger.id,
        client_secret: exchanger.secret,
        grant_types: [exchangeGrant],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: 'signer',
        grant_types: [exchangeGrant],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks: { keys: [{ ...(await signerJwk()), alg: 'ES256', use: 'sig' }] },
      },
    ],
    extend(provider, privateKey) {
      const sign = (claims: JWTPayload, typ = 'JWT') =>
        new SignJWT({ jti: randomUUID(), ...claims })
          .setProtectedHeader({ alg: 'RS256', kid: 'one', typ })
          .setIssuer(issuer)
          .setIssuedAt()
          .setExpirationTime(`${exchanges.ttl}s`)
          .sign(privateKey)
      const names = [
        'subject_token',
        'subject_token_type',
        'requested_token_type',
        'actor_token',
        'actor_token_type',
        'resource',
        'audience',
        'scope',
      ]
      provider.registerGrantType(
        exchangeGrant,
        async (ctx: any) => {
          const asked = ctx.oidc.params as Record<string, string | undefined>
          const refuse = (error: string) => {
            ctx.status = 400
            ctx.body = { error }
          }
          if (exchanges.refusal) return refuse(exchanges.refusal)
          const isAssertion = asked['requested_token_type'] === typeOf('id-jag')
          const subject =
            asked['subject_token_type'] === typeOf('id_token')
              ? await provider.IdToken.validate(asked['subject_token'], ctx.oidc.client).then(
                  ({ payload }: { payload: JWTPayload }) => payload.sub,
                  () => null,
                )
              : (await provider.AccessToken.find(asked['subject_token']))?.accountId
          if (!subject) return refuse(exchanges.ending)
          const act = await actOf(asked['actor_token'], ctx.oidc.client.clientId, issuer)
          const { resource, audience, scope } = asked
          exchanges.done.push({ subject, resource: resource!, audience, scope, act })
          ctx.body = isAssertion
            ? {
                access_token: await sign(
                  { sub: subject, aud: audience!, resource, scope, client_id: exchanger.id },
                  'oauth-id-jag+jwt',
                ),
                issued_token_type: typeOf(exchanges.issuedAs),
                token_type: 'N_A',
                expires_in: 300,
              }
            : {
                access_token: await sign({ sub: subject, aud: resource ?? audience!, scope, act }),
                issued_token_type: typeOf('access_token'),
                token_type: 'Bearer',
                expires_in: exchanges.ttl,
              }
        },
        names,
      )
    },
  }
}

export interface ExchangeServer {
  issuer: string
  exchanges: Exchanges
  /** Every request, as `POST /token`. */
  requests: string[]
  close(): Promise<void>
}

/**
 * An authorization server that knows nobody by itself: it takes tokens of the issuer `trusts`, or, with `assertions`, its assertions
 * for this server alone.
 */
export async function startExchangeServer(
  trusts: { issuer: string; jwks: string },
  { assertions = false } = {},
): Promise<ExchangeServer> {
  const own = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const foreign = createRemoteJWKSet(new URL(trusts.jwks))
  const exchanges = newExchanges()
  const requests: string[] = []
  const token = async (request: { headers: Record<string, unknown>; body: string }) => {
    const form = new URLSearchParams(request.body)
    const pair = `Basic ${Buffer.from(`${exchanger.id}:${exchanger.secret}`).toString('base64')}`
    if (request.headers['authorization'] !== pair) return { status: 401, body: { error: 'invalid_client' } }
    if (exchanges.refusal) return { status: 400, body: { error: exchanges.refusal } }
    const given = form.get(assertions ? 'assertion' : 'subject_token') ?? ''
    const verified = await jwtVerify(given, foreign, {
      issuer: trusts.issuer,
      ...(assertions ? { audience: server.url, typ: 'oauth-id-jag+jwt' } : {}),
    }).catch(() => null)
    if (form.get('grant_type') !== (assertions ? assertionGrant : exchangeGrant) || !verified)
      return { status: 400, body: { error: 'invalid_grant' } }
    const { sub, resource: named } = verified.payload
    const resource = assertions ? String(named) : form.get('resource')!
    const act = { sub: exchanger.id }
    const scope = form.get('scope') ?? undefined
    exchanges.done.push({
      subject: sub!,
      resource,
      audience: form.get('audience') ?? undefined,
      scope,
      act,
    })
    const access = await new SignJWT({ act, jti: randomUUID() })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuer(server.url)
      .setSubject(sub!)
      .setAudience(resource)
      .setIssuedAt()
      .setExpirationTime(`${exchanges.ttl}s`)
      .sign(own.privateKey)
    const body = {
      access_token: access,
      token_type: 'Bearer',
      expires_in: exchanges.ttl,
      issued_token_type: typeOf('access_token'),
    }
    return { status: 200, body }
  }
  const server = await startLoopback((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const send = ({ status, body }: { status: number; body: object }) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url === '/jwks') return void send({ status: 200, body: { keys: [jwk] } })
    if (request.url === '/token') return void token(request).then(send)
    if (!request.url.startsWith('/.well-known/')) return void send({ status: 404, body: {} })
    const metadata = {
      issuer: server.url,
      authorization_endpoint: `${server.url}/authorize`,
      token_endpoint: `${server.url}/token`,
      jwks_uri: `${server.url}/jwks`,
      response_types_supported: ['code'],
      grant_types_supported: [assertions ? assertionGrant : exchangeGrant],
      ...(assertions ? { authorization_grant_profiles_supported: [assertionProfile] } : {}),
    }
    send({ status: 200, body: metadata })
  })
  return { issuer: server.url, exchanges, requests, close: () => server.close() }
}
