/** What an upstream is asked with: its token, got and renewed when it must be, by one replica at a time. */
import {
  auth as authorize,
  extractWWWAuthenticateParams,
  type AuthProvider,
} from '@modelcontextprotocol/client'
import { secretNames } from '../secrets/index.ts'
import type { Services } from '../access/index.ts'
import { openAuth, type UpstreamAuth, type UpstreamConfig } from './config.ts'
import { faultOf, UpstreamFault } from './fault.ts'
import { authFetch, authSecrets, providerOf, type LoginLeg } from './oauth.ts'
import type { Target } from './target.ts'
import { databaseKeeper, type Keeper, type Kept } from './tokens.ts'

/** Whose tokens: a saved upstream, or a configuration on trial. */
export interface Authorized {
  id: string
  projectId: string
  config: UpstreamConfig
}

export interface Challenge {
  metadataUrl: string | null
  scope: string | null
}

/** A token that ends sooner is renewed before it is used, in milliseconds. */
const marginMs = 10_000
/** Tokens that came so recently are used, not renewed: the one that was refused was an older one. Milliseconds. */
const freshMs = 2000

/** The token for a connection. `token` renews what has ended; a 401 gets a new one, once, or says who must act. */
export function authFor(
  services: Services,
  who: Authorized,
  target: Target,
  keeper: Keeper = databaseKeeper(services, who.id, who.projectId),
): AuthProvider {
  const way = who.config.auth ?? openAuth
  const renewOnce = (seen: Kept, challenge: Challenge | null) =>
    services.connections.share(`token ${who.id} ${seen.version}`, () =>
      keeper.inTurn(seen.version, (kept, save) => renew(services, who, target, kept, save, challenge)),
    )
  /** What this connection believes: a login or its end makes other connections, and a refusal has it read again. */
  let believed: { kept: Kept; at: number } | null = null
  const look = async (): Promise<Kept> => {
    const kept = await keeper.read()
    believed = { kept, at: performance.now() }
    return kept
  }
  return {
    async token() {
      const kept = believed ? aged(believed) : await look()
      if (!hasEnded(kept) || !canRenew(way, kept)) return kept.tokens?.access_token
      // The server's own refusal says more than this failure.
      await renewOnce(kept, null).catch(() => {})
      return (await look()).tokens?.access_token
    },
    async onUnauthorized({ response }) {
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      const challenge = { metadataUrl: resourceMetadataUrl?.href ?? null, scope: scope ?? null }
      const used = believed?.kept.version
      const kept = await look()
      if (kept.tokens && (kept.version !== used || kept.ageMs < freshMs)) return
      if (challenge.metadataUrl !== kept.metadataUrl && challenge.metadataUrl !== null)
        await keeper.save({ metadataUrl: challenge.metadataUrl })
      if (!canRenew(way, kept))
        throw new UpstreamFault('authorization_required', 'A person has to log in: connect this upstream.')
      await renewOnce(kept, challenge).catch((error: unknown) => {
        throw faultOf(error)
      })
      await look()
    },
  }
}

/** What was read a while ago, as it would be read now. */
function aged({ kept, at }: { kept: Kept; at: number }): Kept {
  const since = performance.now() - at
  return { ...kept, ageMs: kept.ageMs + since, leftMs: kept.leftMs === null ? null : kept.leftMs - since }
}

function hasEnded({ tokens, leftMs, ageMs }: Kept): boolean {
  if (!tokens || leftMs === null) return false
  return leftMs <= 0 || (leftMs < marginMs && ageMs > marginMs)
}

/** Whether nobody has to log in for it. */
function canRenew(way: UpstreamAuth, { tokens }: Kept): boolean {
  return way.kind !== 'authorization_code' || tokens?.refresh_token !== undefined
}

async function renew(
  services: Services,
  who: Authorized,
  target: Target,
  kept: Kept,
  save: Keeper['save'],
  challenge: Challenge | null,
): Promise<void> {
  await runFlow(services, who, target, { kept, save, challenge, login: null })
}

/** One run of the SDK's flow: discovery, then a token, or the address where a person logs in. */
export async function runFlow(
  services: Services,
  who: Authorized,
  target: Target,
  flow: {
    kept: Kept
    save: Keeper['save']
    challenge: Challenge | null
    login: LoginLeg | null
    /** What came back from the authorization server. */
    returned?: { code: string; iss: string | undefined }
  },
): Promise<void> {
  const way = who.config.auth ?? openAuth
  const { kept, challenge, login, returned } = flow
  const metadataUrl = challenge?.metadataUrl ?? kept.metadataUrl
  const scope = scopeOf(way, challenge?.scope ?? null, kept)
  const secrets = await authSecrets(services, who.projectId, way)
  const provider = providerOf({
    auth: way,
    secrets: secrets.values,
    kept,
    save: flow.save,
    resource: resourceOf(target, who.config),
    publicUrl: services.publicUrl(),
    login,
  })
  await authorize(provider, {
    serverUrl: target.url,
    fetchFn: authFetch(services, secrets),
    ...(metadataUrl === null ? {} : { resourceMetadataUrl: new URL(metadataUrl) }),
    ...(scope === null ? {} : { scope }),
    ...(returned ? { authorizationCode: returned.code } : {}),
    ...(returned?.iss === undefined ? {} : { iss: returned.iss }),
  })
}

/** Configured scopes go before what the server asks for; what it asks for stays within what is allowed. */
function scopeOf(way: UpstreamAuth, asked: string | null, kept: Kept): string | null {
  const wanted = asked === null ? [] : asked.split(' ').filter(Boolean)
  if (way.scopes.length > 0) return [...new Set([...way.scopes, ...kept.wanted])].join(' ')
  const more = [...new Set([...wanted, ...kept.wanted])]
  if (way.kind !== 'authorization_code' || way.allowedScopes.length === 0)
    return more.length > 0 ? more.join(' ') : null
  const inside = more.filter((scope) => way.allowedScopes.includes(scope))
  return (inside.length > 0 ? inside : way.allowedScopes).join(' ')
}

/** RFC 8707: the server's address without a fragment; a secret in the query is nobody else's business. */
function resourceOf({ url }: Target, { url: template }: UpstreamConfig): string {
  const resource = new URL(url)
  resource.hash = ''
  if (secretNames(template).length > 0) resource.search = ''
  return resource.href
}

/**
 * A call needs rights that the token does not have. True when a token with them was got and the call may be sent again;
 * otherwise a fault says why not: only scopes that are allowed are asked for, and a person has to grant them.
 */
export async function stepUp(
  services: Services,
  who: Authorized,
  target: Target,
  scope: string,
): Promise<void> {
  const way = who.config.auth ?? openAuth
  const keeper = databaseKeeper(services, who.id, who.projectId)
  const kept = await keeper.read()
  const missing = scope.split(' ').filter(Boolean)
  const allowed = way.kind === 'authorization_code' ? [...way.scopes, ...way.allowedScopes] : way.scopes
  const free = way.kind !== 'authorization_code' && way.scopes.length === 0
  if (missing.length === 0 || (!free && !missing.every((one) => allowed.includes(one))))
    throw new UpstreamFault(
      'insufficient_scope',
      'The server wants rights that this upstream is not allowed to ask for.',
    )
  // What was granted before is asked for again: other calls need it.
  const granted = kept.tokens?.scope?.split(' ').filter(Boolean) ?? []
  await keeper.save({ wanted: [...new Set([...granted, ...kept.wanted, ...missing])] })
  if (way.kind === 'authorization_code')
    throw new UpstreamFault(
      'authorization_required',
      'The server wants more rights, which a person has to grant: connect this upstream again.',
    )
  await keeper.inTurn(kept.version, (now, save) =>
    renew(services, who, target, now, save, { metadataUrl: null, scope }),
  )
}
