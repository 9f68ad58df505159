/** Logins of single persons, at upstreams whose calls run with the login of the person for whom they are made. */
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { madeDue } from '../../../store/work/work.ts'
import {
  actingPrincipal,
  assertStillValid,
  isSignedIn,
  isSubject,
  loginPlace,
  personActedFor,
  personFor,
  type Services,
} from '../../access/index.ts'
import { UpstreamFault } from '../fault.ts'
import { actorsOf } from './exchange.ts'
import { signInRequired } from './sign-ins.ts'
import type { TokenPlace } from './tokens.ts'
import type { UpstreamRow } from '../state.ts'

export interface PersonLogin {
  /** Another one after each login of the person. */
  id: string
  person: string
  /** Through whom the person acts, where its token names them. */
  actor?: string
  /** Whether its token is one for which a sign-in was exchanged. */
  isExchanged?: boolean
}

/**
 * The login with which a call of this principal runs; null where everybody shares one. Throws an UpstreamFault: `no_person`
 * for a program, and `login_required` when the person has not logged in.
 */
export async function loginOfCall(
  { db }: Pick<Services, 'db'>,
  row: UpstreamRow,
  made: { requestedBy?: string; actsFor?: string | null; callId?: string },
): Promise<PersonLogin | null> {
  const { id, config } = row
  if (!config.login) return null
  const person = await personOfCall(db, made)
  if (person === null)
    throw new UpstreamFault(
      'no_person',
      'This server is called with the login of the person for whom a call is made, and this call is made for none: its ' +
        'API key is that of a program. Call the tool with a key or the sign-in of a person, or say for which person the program ' +
        'acts, in the header Gatehouse-Acts-For.',
    )
  if (config.auth?.kind === 'token_exchange') {
    const actor = config.auth.privateKey === null || !made.callId ? '' : await actorsOf(db, made.callId)
    return exchangedLogin(db, row, person, actor)
  }
  const [login] = await query<{ id: string }>(
    db,
    sql`select id from person_logins
      where upstream_id = ${id} and person = ${person} and connected_at is not null`,
  )
  if (login) return { id: login.id, person }
  throw new UpstreamFault(
    'login_required',
    'This server is called with the login of the person for whom the call is made, who has not logged in there. Log in ' +
      'on the page of the tool, or with logInToUpstream.',
    { person },
  )
}

/** For whom a call is made; null for nobody. Throws when a program made it for a person who may not act any more. */
async function personOfCall(
  db: Services['db'],
  { requestedBy, actsFor = null }: { requestedBy?: string; actsFor?: string | null },
): Promise<string | null> {
  if (actsFor === null) return requestedBy === undefined ? null : personFor(db, requestedBy)
  const person = await personActedFor(db, actsFor)
  if (person !== null) return person
  throw new UpstreamFault(
    'no_person',
    'The person for whom this call was made may not act any more: the key was revoked or expired, or the sign-in ended.',
  )
}

/**
 * The login of a person whose sign-in is exchanged: once the person has agreed to that, as long as there is a sign-in or what it was
 * exchanged for.
 */
async function exchangedLogin(
  db: Database,
  { id, projectId }: UpstreamRow,
  person: string,
  actor: string,
): Promise<PersonLogin> {
  if (!isSubject(person))
    throw new UpstreamFault(
      'no_person',
      'This server is called with a token for which the sign-in of a person at the identity provider is exchanged, and this ' +
        'call is made for a key that is no account there. Call the tool after signing in at the identity provider.',
    )
  const place = loginPlace(id, actor)
  const rows = await query<{ id: string; place: string; isGood: boolean; isSignedIn: boolean }>(
    db,
    sql`select l.id, l.upstream_id as place, coalesce(l.expires_at > now(), false) as "isGood",
        ${isSignedIn(sql`l.person`)} as "isSignedIn"
      from person_logins as l
      where l.upstream_id in ${[id, place]} and l.person = ${person} and l.connected_at is not null`,
  )
  const hasAgreed = rows.some((row) => row.place === id)
  const found = hasAgreed ? rows.find((row) => row.place === place) : undefined
  const login = { person, actor, isExchanged: true }
  if (found && (found.isSignedIn || found.isGood)) return { ...login, id: found.id }
  if (!rows.some((row) => row.isSignedIn) || !hasAgreed) throw signInRequired(person)
  return { ...login, id: await beginExchange(db, { id, projectId, person, actor }, true) }
}

/** Notes that the sign-in of the person is exchanged for the upstream from now on, or from the next sign-in. Returns the id. */
export async function beginExchange(
  db: Database,
  { id, projectId, person, actor = '' }: TokenPlace & { person: string },
  isNow: boolean,
): Promise<string> {
  const [login] = await query<{ id: string }>(
    db,
    sql`insert into person_logins as l (id, upstream_id, project_id, person, connected_at)
      values (gen_random_uuid()::text, ${loginPlace(id, actor)}, ${projectId}, ${person}, ${isNow ? sql`now()` : sql`null`})
      on conflict (upstream_id, person) do update
      set connected_at = coalesce(l.connected_at, excluded.connected_at)
      returning id`,
  )
  return login!.id
}

/**
 * The login with which the lists of the server are read: the one that everybody shares (null), or, without it, the newest of a
 * person.
 */
export async function loginOfLists(
  { db }: Pick<Services, 'db'>,
  { id, config }: UpstreamRow,
): Promise<PersonLogin | null> {
  if (!config.login) return null
  const isExchanged = config.auth?.kind === 'token_exchange'
  const isUsable = isExchanged ? sql`(l.expires_at > now() or ${isSignedIn(sql`l.person`)})` : sql`true`
  const [login] = await query<PersonLogin>(
    db,
    sql`select id, person from person_logins as l
      where upstream_id = ${id} and connected_at is not null and ${isUsable}
        and not exists (select 1 from upstream_tokens where upstream_id = ${id} and connected_at is not null)
        and not exists (select 1 from api_keys where id = person and expires_at <= now())
      order by connected_at desc
      limit 1`,
  )
  return login ? { ...login, isExchanged } : null
}

/**
 * Notes that the person has logged in, unless whoever started the login may not act any more. The calls that wait for it
 * go on: see `approvals/logins.ts`.
 */
export async function connectPerson(
  services: Services,
  { id, projectId }: UpstreamRow,
  person: string,
  startedBy: string,
): Promise<'connected' | 'expired'> {
  const { db, clock } = services
  const connected = await atomically(db, async (tx) => {
    const principal = await actingPrincipal(tx, projectId, startedBy, clock.now())
    if (!principal) return false
    await assertStillValid(tx, principal)
    await query(
      tx,
      sql`update person_logins set id = gen_random_uuid()::text, connected_at = now()
        where upstream_id = ${id} and person = ${person}`,
    )
    await query(tx, sql`update upstreams set ${madeDue} where id = ${id} and status <> 'CONNECTED'`)
    return true
  })
  if (!connected) {
    await query(db, sql`delete from person_logins where upstream_id = ${id} and person = ${person}`)
    return 'expired'
  }
  await wakeQuestions(services, id, person)
  return 'connected'
}

/** Lets the calls that wait for the login of this person at the upstream be judged again. */
export async function wakeQuestions(
  { db, pubsub }: Pick<Services, 'db' | 'pubsub'>,
  id: string,
  person: string,
): Promise<void> {
  await query(
    db,
    sql`update approvals set wake_at = now()
      where status = 'PENDING' and tool_id = ${id} and requirement->>'loginOf' = ${person}`,
  )
  pubsub.publish([{ kind: 'work', table: 'upstreams' }])
}

/**
 * What a failure means for the login it happened with: one that the server does not accept any more ends, and the person
 * must log in again.
 */
export async function faultOfLogin(
  { db }: Pick<Services, 'db'>,
  login: PersonLogin | null,
  fault: UpstreamFault,
): Promise<UpstreamFault> {
  if (!login) return fault
  const { code, facts } = fault
  if (facts.status === 403 && code !== 'authorization_required')
    return new UpstreamFault(
      code,
      `${fault.message} It refuses this to the account with which the person for whom the call is made is logged in.`,
      facts,
      fault,
    )
  if (code !== 'authorization_required') return fault
  if (login.isExchanged)
    return new UpstreamFault(
      'authorization_failed',
      'The server does not accept the token for which the sign-in of the person for whom the call is made was exchanged.',
      facts,
      fault,
    )
  await query(db, sql`update person_logins set connected_at = null where id = ${login.id}`)
  return new UpstreamFault(
    'login_required',
    'The server does not accept the login of the person for whom the call is made any more. Log in again on the page of ' +
      'the tool, or with logInToUpstream.',
    { person: login.person },
    fault,
  )
}
