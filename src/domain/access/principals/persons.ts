/** The person behind a key: keys belong to the person who created them, directly or through other keys. */
import { batchStatements } from '../../../store/db/fast-statements.ts'
import { jsonb, query, type Database } from '../../../store/db/database.ts'
import { memoryOf } from '../../basis/index.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { rowsOf } from '../../../store/db/rows.ts'
import { isSubject } from './subjects.ts'

/**
 * The person behind each of these principals, as the id of a principal. For a person with a token it is the person; for
 * a key it is the person or the first key in the chain of its creators. The chain ends at a key that an operator
 * created: each of those counts as one person (docs/decisions/0020), and at one whose holder joined as a person of their
 * own (docs/decisions/0068). A quorum counts principals with the same person once.
 */
export async function personsOf(db: Database, ids: readonly string[]): Promise<Map<string, string>> {
  const keys = [...new Set(ids)].filter((id) => !isSubject(id))
  const rows =
    keys.length > 0
      ? await query<{ id: string; top: string; madeBy: string | null }>(
          db,
          sql`with recursive up as (
              select id as start, id, person, created_by, 0 as height
              from api_keys
              where id in ${keys}
              union all
              select up.start, k.id, k.person, k.created_by, up.height + 1
              from up
              join api_keys as k on k.id = up.created_by and up.person is null and not k.installation
            )
            select distinct on (start) start as id, id as top, coalesce(person, created_by) as "madeBy"
            from up
            order by start, height desc`,
        )
      : []
  const persons = new Map(ids.map((id) => [id, id]))
  for (const { id, top, madeBy } of rows) persons.set(id, madeBy && isSubject(madeBy) ? madeBy : top)
  return persons
}

/** The person for whom a principal acts; null for a key of a program, and for one that does not exist. */
export async function personFor(db: Database, id: string): Promise<string | null> {
  if (isSubject(id)) return id
  const [key] = await query(db, sql`select 1 from api_keys where id = ${id} and votes`)
  return key ? (await personsOf(db, [id])).get(id)! : null
}

/** Deletes the logins at upstreams of the persons who lose these keys, their own or those with which they joined. */
export async function deleteLoginsOf(tx: Database, keyIds: readonly string[]): Promise<void> {
  if (keyIds.length === 0) return
  await query(
    tx,
    sql`delete from person_logins
      where person in ${[...keyIds]} or person in (select person from api_keys where id in ${[...keyIds]})`,
  )
}

/** Stands for the identity provider where the logins of a person at upstreams have the id of the upstream. */
export const signInId = 'sign-in'

/** What a login of a person has for its upstream: behind that, where its tokens name them, the ids of those of `actor`. */
export const loginPlace = (upstreamId: string, actor: string): string =>
  actor === '' ? upstreamId : `${upstreamId} ${actor}`

/** The upstream of the logins `l`, as `loginPlace` has it. */
export const placeUpstream = sql`split_part(l.upstream_id, ' ', 1)`

/** Whether the upstream `u` is called with tokens for which sign-ins are exchanged. */
export const exchangesSignIns = sql`coalesce(u.config->'auth'->>'kind' = 'token_exchange', false)`

/** The session in which a person has signed in at the identity provider, with an account or with a key that it has joined. */
const signInSession = (person: SQL): SQL => sql`exists (
    select 1 from sessions as s
    where s.method = 'OIDC' and s.expires_at > now()
      and (s.principal_id = ${person} or s.principal_id in (select k.id from api_keys as k where k.person = ${person}))
  )`

/**
 * Whether tokens of the identity provider are kept for this person that can be exchanged: those of a session as long as it
 * lasts, and those with which requests came until they expire.
 */
export const isSignedIn = (person: SQL): SQL => sql`exists (
    select 1 from person_logins as i
    where i.upstream_id = ${signInId} and i.person = ${person} and (i.expires_at is null or i.expires_at > now())
      and (i.connected_at is null or ${signInSession(person)})
  )`

/**
 * Deletes what is kept of the sign-ins of this principal, and the tokens for which they were exchanged, unless one of its sessions
 * lasts. That the person has agreed to an exchange stays.
 */
export async function deleteSignIns(tx: Database, principalId: string): Promise<void> {
  const isOver = sql`l.person in (
      select ${principalId}::text union all select k.person from api_keys as k where k.id = ${principalId}
    ) and not ${signInSession(sql`l.person`)}`
  await query(tx, sql`delete from person_logins as l where l.upstream_id = ${signInId} and ${isOver}`)
  await query(
    tx,
    sql`update person_logins as l
      set id = gen_random_uuid()::text, sealed = null, expires_at = null, version = l.version + 1
      from upstreams as u
      where u.id = ${placeUpstream} and ${exchangesSignIns} and ${isOver}`,
  )
}

/** Deletes what is kept of sign-ins that have ended by themselves. */
export async function forgetEndedSignIns(db: Database): Promise<void> {
  await query(
    db,
    sql`delete from person_logins as l where l.upstream_id = ${signInId} and not ${isSignedIn(sql`l.person`)}`,
  )
}

/**
 * The ids of all principals whose person is this one, as a subquery: the person, the keys with which it has joined, and
 * those made with one of these, directly or through other keys, as far as nobody else has joined with them as a person of
 * their own. The key of an operator is a person alone.
 */
export function memberOf(person: string): SQL {
  return sql`with recursive mine as (
      select ${person}::text as id,
        not exists (select 1 from api_keys where id = ${person} and installation) as goes_on
      union
      select k.id, true
      from mine
      join api_keys as k
        on (k.person = mine.id or (k.created_by = mine.id and k.person is null)) and not k.installation
      where mine.goes_on
    )
    select id from mine`
}

type Lineage = readonly string[]

/** The lineages that one process remembers. */
const lineagesIn = memoryOf<Lineage>(10_000)
const readLineage = batchStatements(readLineages)

/**
 * The principals to which a requester belongs, itself first: `memberOf` of each of them has it, but for a key of an operator,
 * which is a person alone. It is remembered, because nothing changes it once a key is used: who joins with a key does so
 * before.
 */
export async function lineageOf(db: Database, id: string): Promise<Lineage> {
  const lineages = lineagesIn(db)
  const found = lineages.get(id) ?? (await readLineage({ db }, id))
  lineages.set(id, found)
  return found
}

async function readLineages({ db }: { db: Database }, ids: readonly string[]): Promise<Lineage[]> {
  const rows = await query<{ start: string; ids: string[] }>(
    db,
    sql`with recursive up as (
        select x.id as start, x.id, 0 as height
        from ${rowsOf(jsonb(ids.map((id) => ({ id }))), ids.length, 'x(id text)')}
        union all
        select up.start, coalesce(k.person, k.created_by), up.height + 1
        from up
        join api_keys as k on k.id = up.id and not k.installation
      )
      select start, jsonb_agg(id order by height) as ids
      from up
      where id is not null
      group by start`,
  )
  const found = new Map(rows.map(({ start, ids: own }) => [start, own]))
  return ids.map((id) => found.get(id) ?? [id])
}
