/** An identity provider on loopback: keys, a discovery document, and tokens with any claims. */
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose'
import type { Config } from '../../src/config.ts'
import { startLoopback } from './loopback.ts'

export interface TokenIssuer {
  issuer: string
  /** The settings of a server that takes its tokens. */
  oidc: NonNullable<Config['oidc']>
  /** A token with these claims over valid ones; `null` leaves a claim out. */
  token(claims?: Record<string, unknown>, by?: CryptoKey): Promise<string>
  /** A key that the provider does not publish. */
  unpublishedKey: CryptoKey
  close(): Promise<void>
}

export async function startTokenIssuer(sound: Record<string, unknown>): Promise<TokenIssuer> {
  const own = await generateKeyPair('RS256')
  const otherPair = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const server = await startLoopback((request, response) => {
    const document = { issuer: server.url, jwks_uri: `${server.url}/keys` }
    const body = request.url === '/keys' ? { keys: [jwk] } : document
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  return {
    issuer: server.url,
    oidc: {
      issuer: server.url,
      audiences: ['gatehouse'],
      jwksUrl: null,
      projectClaim: 'gatehouse_project',
      roleClaim: 'gatehouse_role',
      client: null,
      exchangeIssuers: [],
    },
    unpublishedKey: otherPair.privateKey,
    token(claims = {}, by = own.privateKey) {
      const now = Math.floor(Date.now() / 1000)
      const all = { iss: server.url, sub: 'ada', iat: now, exp: now + 300, ...sound, ...claims }
      const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
      return new SignJWT(kept).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(by)
    },
    close: () => server.close(),
  }
}
