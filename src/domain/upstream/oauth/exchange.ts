/**
 * The request with which the sign-in of a person becomes a token for an upstream: a token exchange (RFC 8693), or the assertion
 * that the identity provider makes of it (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant).
 */
import { randomUUID } from 'node:crypto'
import { importPKCS8, SignJWT } from 'jose'
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client'
import { textIfAny } from '../../../core/json.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { TokenRefusedError, type Services } from '../../access/index.ts'
import type { TokenExchange } from '../auth-config.ts'
import { UpstreamFault } from '../fault.ts'
import { faultOfSignIn, tokenOfSignIn } from './sign-ins.ts'
import type { TokenOwner } from './tokens.ts'

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const assertionProfile = 'urn:ietf:params:oauth:grant-profile:id-jag'
const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`

/** Where a token is requested, as the discovery found it. */
export interface ExchangeTarget {
  issuer: string
  metadata: AuthorizationServerMetadata | undefined
  resource: string | undefined
  scope: string | undefined
}

/**
 * The parameters of the token request. Throws an UpstreamFault: `login_required` without a sign-in, and `authorization_failed`
 * for an authorization server to which no sign-in may be sent.
 */
export async function exchangeRequest(
  services: Services,
  owner: TokenOwner,
  auth: TokenExchange,
  privateKey: string | undefined,
  target: ExchangeTarget,
): Promise<URLSearchParams> {
  const { projectId, person } = owner
  if (person === undefined)
    throw new UpstreamFault(
      'authorization_required',
      'This server is called with tokens of single persons, and nobody is signed in who has used it.',
    )
  const { identity } = services
  const isProvider = identity !== null && isSameIssuer(identity.issuer, target.issuer)
  if (identity && !isProvider && takesAssertions(target.metadata))
    return new URLSearchParams({
      grant_type: assertionGrant,
      assertion: await requestAssertion(services, { projectId, person }, target),
      ...(target.scope && { scope: target.scope }),
    })
  if (!isProvider && !identity?.exchangeIssuers.some((one) => isSameIssuer(one, target.issuer)))
    throw new UpstreamFault(
      'authorization_failed',
      'No sign-in is sent to this authorization server: it takes no assertions of the identity provider (ID-JAG), and is ' +
        'neither that provider nor one of GATEHOUSE_OIDC_EXCHANGE_ISSUERS.',
    )
  return new URLSearchParams({
    grant_type: exchangeGrant,
    subject_token: await tokenOfSignIn(services, { projectId, person }, 'access_token'),
    subject_token_type: tokenType('access_token'),
    requested_token_type: tokenType('access_token'),
    ...(target.scope && { scope: target.scope }),
    ...(auth.audience !== null && { audience: auth.audience }),
    ...(privateKey !== undefined && {
      actor_token: await actorToken(services, owner, auth, privateKey, target.issuer),
      actor_token_type: tokenType('jwt'),
    }),
  })
}

/** A trailing slash makes no difference (RFC 8414, section 3.3, and common practice). */
export function isSameIssuer(one: string, other: string): boolean {
  const bare = (issuer: string) => issuer.replace(/\/$/, '')
  return bare(one) === bare(other)
}

function takesAssertions(metadata: AuthorizationServerMetadata | undefined): boolean {
  const profiles = (metadata as Record<string, unknown> | undefined)?.[
    'authorization_grant_profiles_supported'
  ]
  return Array.isArray(profiles) && profiles.includes(assertionProfile)
}

/** Has the identity provider make an assertion for one authorization server and resource; the sign-in itself goes nowhere else. */
async function requestAssertion(
  services: Services,
  of: { projectId: string; person: string },
  { issuer, resource, scope }: ExchangeTarget,
): Promise<string> {
  // The token would be good for every server of that authorization server.
  if (resource === undefined)
    throw new UpstreamFault(
      'authorization_failed',
      'An assertion is made for one server, which `resource` names: leave omitResource out.',
    )
  const idToken = await tokenOfSignIn(services, of, 'id_token')
  try {
    const answer = await services.identity!.requestTokens({
      grant_type: exchangeGrant,
      requested_token_type: tokenType('id-jag'),
      audience: issuer,
      resource,
      ...(scope && { scope }),
      subject_token: idToken,
      subject_token_type: tokenType('id_token'),
    })
    const assertion = textIfAny(answer['access_token'])
    if (assertion && answer['issued_token_type'] === tokenType('id-jag')) return assertion
    throw new Error('The identity provider sent no assertion.')
  } catch (error) {
    const code = error instanceof TokenRefusedError ? error.error : ''
    const fault = new UpstreamFault(
      'authorization_failed',
      `The identity provider makes no assertion for this server and the person of the call${code && ` (${code})`}.`,
      {},
      error,
    )
    throw await faultOfSignIn(services, of, code, fault)
  }
}

/** How long an actor token is good, in seconds. */
const actorSeconds = 300

/** Who acts (RFC 8693, 4.1): Gatehouse, for those of `owner.actor`, the last one first. */
async function actorToken(
  services: Services,
  { actor = '' }: TokenOwner,
  { clientId, algorithm }: TokenExchange,
  privateKey: string,
  issuer: string,
): Promise<string> {
  const publicUrl = services.publicUrl()
  const act = actor
    .split(' ')
    .filter(Boolean)
    .reduceRight<object | null>((inner, sub) => ({ iss: publicUrl, sub, ...(inner && { act: inner }) }), null)
  const now = Math.floor(services.clock.now() / 1000)
  const key = await importPKCS8(privateKey, algorithm!)
  return new SignJWT(act ? { act } : {})
    .setProtectedHeader({ alg: algorithm!, typ: 'JWT' })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(issuer)
    .setIssuedAt(now)
    .setExpirationTime(now + actorSeconds)
    .setJti(randomUUID())
    .sign(key)
}

/**
 * The ids of those through whom the person of a call acts, separated by spaces: the agent of its run before those of the runs that
 * started it, or the agent whose bridge was used, and then the key of the program that requested it. Empty for a call of the person.
 */
export async function actorsOf(db: Database, callId: string): Promise<string> {
  const [row] = await query<{ actors: string }>(
    db,
    sql`with recursive up as (
        select g.agent_id, g.parent_id, 0 as height
        from tool_calls as c
        join generations as g on g.id = c.generation_id
        where c.id = ${callId}
        union all
        select g.agent_id, g.parent_id, up.height + 1
        from up
        join generations as g on g.id = up.parent_id
      )
      select concat_ws(
        ' ',
        coalesce((select string_agg(agent_id, ' ' order by height) from up), c.agent_id),
        case when c.requester->>'actsFor' is not null then c.requested_by end
      ) as actors
      from tool_calls as c
      where c.id = ${callId}`,
  )
  return row?.actors ?? ''
}
