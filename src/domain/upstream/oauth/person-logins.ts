/** Logins of single persons, at upstreams whose calls run with the login of the person for whom they are made. */
import { atomically, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { madeDue } from '../../../store/work/work.ts'
import { actingPrincipal, assertStillValid, personFor, type Services } from '../../access/index.ts'
import { UpstreamFault } from '../fault.ts'
import type { UpstreamRow } from '../state.ts'

export interface PersonLogin {
  /** Another one after each login of the person. */
  id: string
  person: string
}

/**
 * The login with which a call of this principal runs; null where everybody shares one. Throws an UpstreamFault: `no_person`
 * for a program, and `login_required` when the person has not logged in.
 */
export async function loginOfCall(
  { db }: Pick<Services, 'db'>,
  { id, config }: UpstreamRow,
  requestedBy: string | undefined,
): Promise<PersonLogin | null> {
  if (!config.login) return null
  const person = requestedBy === undefined ? null : await personFor(db, requestedBy)
  if (person === null)
    throw new UpstreamFault(
      'no_person',
      'This server is called with the login of the person for whom a call is made, and this call is made for none: its ' +
        'API key is that of a program. Call the tool with a key or the sign-in of a person.',
    )
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

/**
 * The login with which the lists of the server are read: the one that everybody shares (null), or, without it, the newest of a
 * person.
 */
export async function loginOfLists(
  { db }: Pick<Services, 'db'>,
  { id, config }: UpstreamRow,
): Promise<PersonLogin | null> {
  if (!config.login) return null
  const [login] = await query<PersonLogin>(
    db,
    sql`select id, person from person_logins
      where upstream_id = ${id} and connected_at is not null
        and not exists (select 1 from upstream_tokens where upstream_id = ${id} and connected_at is not null)
        and not exists (select 1 from api_keys where id = person and expires_at <= now())
      order by connected_at desc
      limit 1`,
  )
  return login ?? null
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
  const { db, clock, pubsub } = services
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
  await query(
    db,
    sql`update approvals set wake_at = now()
      where status = 'PENDING' and tool_id = ${id} and requirement->>'loginOf' = ${person}`,
  )
  pubsub.publish([{ kind: 'work', table: 'upstreams' }])
  return 'connected'
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
  await query(db, sql`update person_logins set connected_at = null where id = ${login.id}`)
  return new UpstreamFault(
    'login_required',
    'The server does not accept the login of the person for whom the call is made any more. Log in again on the page of ' +
      'the tool, or with logInToUpstream.',
    { person: login.person },
    fault,
  )
}
