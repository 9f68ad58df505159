/** What an OpenID provider publishes: its discovery document and keys, read when they are first needed. */
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'
import { type Services } from '../access/index.ts'

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

export interface Provider {
  keys(): Promise<JWTVerifyGetKey>
  /** Throws when it cannot be read or is of another issuer; the next call tries again. */
  document(): Promise<ProviderDocument>
}

/** With `jwksUrl` the keys are read without discovery. */
export function createProvider(
  { egress }: Pick<Services, 'egress'>,
  { issuer, jwksUrl }: { issuer: string; jwksUrl: string | null },
): Provider {
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
  return { keys, document }
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
