/** Verifies JWTs of an identity provider with its published keys. */
import { jwtVerify, type JWTPayload, type JWTVerifyOptions } from 'jose'
import { BoundedMap } from '../../core/bounded-map.ts'
import { sha256Hex } from '../../core/signing.ts'
import { canonicalText, shortText } from '../../core/text.ts'
import {
  type Account,
  type Principal,
  type Role,
  type Services,
  type TokenVerifier,
  keepSubject,
  roles,
} from '../access/index.ts'
import { algorithms, clockToleranceSeconds, createProvider, type Provider } from './oidc-provider.ts'

/** The trusted identity provider, and the meaning of its claims. */
export interface OidcSettings {
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

/** Verifies signature, issuer, audience and expiry. Project and role come from claims, never from headers. */
export function createTokenVerifier(
  services: Pick<Services, 'db' | 'egress' | 'clock' | 'log'>,
  settings: OidcSettings,
  provider: Provider = createProvider(services, settings),
): TokenVerifier {
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
export async function principalOfClaims(
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
