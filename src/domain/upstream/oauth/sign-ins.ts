/**
 * The tokens with which people have signed in at the identity provider, kept where upstreams exchange them: sealed, for each
 * person, as long as the session lasts or until the token of a request expires.
 */
import { decodeJwt } from 'jose'
import { textIfAny, type JsonObject } from '../../../core/json.ts'
import { atomically, nowPlus, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { madeDue } from '../../../store/work/work.ts'
import {
  exchangesSignIns,
  isSignedIn,
  isSubject,
  personFor,
  signInId,
  TokenRefusedError,
  type Principal,
  type Services,
} from '../../access/index.ts'
import { UpstreamFault } from '../fault.ts'
import { databaseTokenStore, sealTokens, type IssuedTokens, type TokenPlace } from './tokens.ts'

/** Tokens of the identity provider, with the time until which each is good, in milliseconds since 1970; null when it is not said. */
interface SignInTokens extends IssuedTokens {
  accessUntil: number | null
  idUntil: number | null
}

/** A token that expires sooner than this is renewed before it is exchanged, in milliseconds. */
const marginMs = 10_000
/** A sign-in that was made or renewed less than this ago has hardly ended, in milliseconds. */
const freshMs = 60_000

/** Rises from one row of a person to the next too: what was found of an earlier sign-in ends no later one. */
const firstVersion = sql`extract(epoch from now())::int`

/** Keeps the answer of the token endpoint after a person has signed in with a browser whose session has begun. */
export async function keepSignIn(
  services: Services,
  principal: Pick<Principal, 'id' | 'projectId'>,
  answer: JsonObject,
): Promise<void> {
  const tokens = tokensOf(services, answer, null)
  if (tokens) await keep(services, principal, tokens, true)
}

/** Keeps a token of the identity provider with which a request came, unless the person has signed in with a browser. */
export async function keepBearer(
  services: Services,
  principal: Pick<Principal, 'id' | 'projectId' | 'expiresAt'>,
  token: string,
): Promise<void> {
  const seconds = (principal.expiresAt!.getTime() - services.clock.now()) / 1000
  const tokens = tokensOf(services, { access_token: token, expires_in: seconds }, null)
  if (tokens) await keep(services, principal, tokens, false)
}

/** Writes nothing in a project without an upstream that exchanges sign-ins, or for a key that is no account of the provider. */
async function keep(
  services: Services,
  { id, projectId }: Pick<Principal, 'id' | 'projectId'>,
  tokens: SignInTokens,
  hasSession: boolean,
): Promise<void> {
  const { db, pubsub } = services
  const person = await personFor(db, id)
  if (person === null || !isSubject(person)) return
  const used = sql`select 1 from upstreams as u where u.project_id = ${projectId} and ${exchangesSignIns} limit 1`
  if ((await query(db, used)).length === 0) return
  const place = { id: signInId, projectId, person }
  const ends = tokens.expires_in === undefined ? sql`null` : nowPlus(tokens.expires_in * 1000)
  const later = sql`l.connected_at is null and l.expires_at < excluded.expires_at`
  const kept = await atomically(db, async (tx) => {
    const rows = await query(
      tx,
      sql`insert into person_logins as l
          (id, upstream_id, project_id, person, connected_at, sealed, expires_at, version)
        values (gen_random_uuid()::text, ${signInId}, ${projectId}, ${person},
          ${hasSession ? sql`now()` : sql`null`}, ${sealTokens(services, place, tokens)}, ${ends}, ${firstVersion})
        on conflict (upstream_id, person) do update
        set id = excluded.id, connected_at = excluded.connected_at, sealed = excluded.sealed,
          expires_at = excluded.expires_at, version = l.version + 1, updated_at = now(), asked_until = null
        where ${hasSession ? sql`true` : sql`(${later} or not ${isSignedIn(sql`l.person`)})`}
        returning 1`,
    )
    if (rows.length === 0) return false
    await query(
      tx,
      sql`with begun as (
          update person_logins as l set connected_at = now()
          from upstreams as u
          where l.person = ${person} and l.connected_at is null and u.id = l.upstream_id and ${exchangesSignIns}
          returning u.id
        )
        update upstreams set ${madeDue} where id in (select id from begun) and status <> 'CONNECTED'`,
    )
    await query(
      tx,
      sql`update approvals set wake_at = now() where status = 'PENDING' and requirement->>'loginOf' = ${person}`,
    )
    return true
  })
  if (kept) pubsub.publish([{ kind: 'work', table: 'upstreams' }])
}

/** What is kept of an answer of the token endpoint; null without an access token. What it does not renew stays from `earlier`. */
function tokensOf(
  { clock }: Pick<Services, 'clock'>,
  answer: JsonObject,
  earlier: SignInTokens | null,
): SignInTokens | null {
  const access = textIfAny(answer['access_token'])
  if (access === undefined) return null
  const now = clock.now()
  const seconds = Number(answer['expires_in'] ?? NaN)
  const accessUntil = Number.isFinite(seconds) ? now + seconds * 1000 : null
  const idToken = textIfAny(answer['id_token']) ?? earlier?.id_token
  const idUntil = idToken === undefined ? null : (decodeJwt(idToken).exp ?? 0) * 1000
  const refresh = textIfAny(answer['refresh_token']) ?? earlier?.refresh_token
  const ends = [accessUntil, idUntil].filter((until) => until !== null)
  return {
    access_token: access,
    token_type: 'Bearer',
    accessUntil,
    idUntil,
    ...(idToken === undefined ? {} : { id_token: idToken }),
    // What can be renewed ends with the session alone.
    ...(refresh === undefined
      ? ends.length > 0 && { expires_in: (Math.min(...ends) - now) / 1000 }
      : { refresh_token: refresh }),
  }
}

/**
 * The access token or ID token of a person's sign-in, renewed when it is about to expire, by one replica at a time. Throws an
 * UpstreamFault: `login_required` when the person must sign in again.
 */
export async function tokenOfSignIn(
  services: Services,
  { projectId, person }: { projectId: string; person: string },
  which: 'access_token' | 'id_token',
): Promise<string> {
  const place = { id: signInId, projectId, person }
  const store = databaseTokenStore(services, place)
  const isGoodFor = (tokens: SignInTokens, leftMs: number) => {
    const until = which === 'id_token' ? tokens.idUntil : tokens.accessUntil
    return until === null || until > services.clock.now() + leftMs
  }
  const read = async () => {
    const stored = await store.read()
    const tokens = stored.tokens as SignInTokens | null
    if (!tokens) throw signInRequired(person)
    return { tokens, version: stored.version }
  }
  let { tokens, version } = await read()
  if (which === 'id_token' && tokens.id_token === undefined)
    throw new UpstreamFault(
      'authorization_failed',
      'The authorization server takes an assertion of the identity provider, for which the person must sign in to ' +
        'Gatehouse with a browser: a token with which a request came is not enough.',
    )
  if (!isGoodFor(tokens, marginMs) && tokens.refresh_token !== undefined) {
    const seen = version
    await services.connections.share(`sign-in ${person} ${seen}`, () =>
      store.exclusively(seen, async ({ tokens: stored }, save) => {
        const renewed = await renew(services, stored as SignInTokens | null)
        if (renewed) await save({ tokens: renewed })
      }),
    )
    ;({ tokens, version } = await read())
  }
  if (isGoodFor(tokens, 0)) return tokens[which]!
  await endSignIn(services, place, version)
  throw signInRequired(person)
}

/** Null when the provider does not renew the sign-in any more. */
async function renew(services: Services, tokens: SignInTokens | null): Promise<SignInTokens | null> {
  if (tokens?.refresh_token === undefined) return null
  try {
    const parameters = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    return tokensOf(services, await services.identity!.requestTokens(parameters), tokens)
  } catch (error) {
    if (error instanceof TokenRefusedError && endings.has(error.error)) return null
    services.log.warn({ err: error }, 'a sign-in could not be renewed')
    throw new UpstreamFault(
      'authorization_failed',
      'The identity provider does not renew sign-ins now.',
      {},
      error,
    )
  }
}

/**
 * The errors with which servers say that a token is not good any more: RFC 6749 has the first, RFC 8693 the second, and Keycloak the
 * third. They say it of other faults too.
 */
const endings = new Set(['invalid_grant', 'invalid_request', 'invalid_token'])

/**
 * What the refusal of an exchange means for the sign-in: one that its provider does not take any more has ended, and the person must
 * sign in again. Everything else would be refused again after another sign-in, and stays a fault of the exchange. Throws as
 * `tokenOfSignIn` when the sign-in cannot be renewed.
 */
export async function faultOfSignIn(
  services: Services,
  { projectId, person }: { projectId: string; person: string },
  error: string,
  fault: UpstreamFault,
): Promise<UpstreamFault> {
  if (!endings.has(error)) return fault
  const place = { id: signInId, projectId, person }
  const store = databaseTokenStore(services, place)
  // The program that sent the token of a request brings the next one.
  if ((await store.read()).tokens?.id_token === undefined) return fault
  // It may have expired beside an ID token that was refused for another reason.
  const accessToken = await tokenOfSignIn(services, { projectId, person }, 'access_token')
  const { ageMs, version } = await store.read()
  const isGood = await services.identity!.accepts(accessToken)
  if (isGood ?? (error !== 'invalid_grant' || ageMs < freshMs)) return fault
  await endSignIn(services, place, version)
  return signInRequired(person, fault)
}

async function endSignIn({ db }: Services, { person }: TokenPlace, version: number): Promise<void> {
  await query(
    db,
    sql`delete from person_logins
      where upstream_id = ${signInId} and person = ${person!} and version = ${version}`,
  )
}

/** The fault of a call whose person must sign in at the identity provider. */
export function signInRequired(person: string, cause?: unknown): UpstreamFault {
  return new UpstreamFault(
    'login_required',
    'This server is called with a token for which the sign-in of the person at the identity provider is exchanged. That person ' +
      'must agree on the page of the tool, or with logInToUpstream, and be signed in at the identity provider.',
    { person },
    cause,
  )
}
