/** A program calls for a person: the header that names the person, who may name whom, and how long. */
import { invalidAt } from '../../../core/errors.ts'
import { kindOfId } from '../../../core/ids.ts'
import type { Ctx } from '../context/context.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { assertMay } from '../permission/permission.ts'
import { memberOf, personsOf } from './persons.ts'
import { isSubject } from './subjects.ts'

/** The header of a request that names the person for whom a program calls. */
const header = 'Gatehouse-Acts-For'

/** What the headers of a request, by lower-case names, say of the person for whom it is made; undefined: nothing. */
export function personNamedIn(headers: Readonly<Record<string, unknown>>): unknown {
  return headers[header.toLowerCase()]
}

/**
 * The context of a request with what it says of the person for whom it is made; undefined: it says nothing. What it says may be
 * anything that a client can send. Throws INVALID for what is no single id, for a caller that is no program, and for whom is no
 * person of the key's project who may act now; FORBIDDEN, audited, without the action `persons:ActFor` on the named one
 * and on the person behind that.
 */
export async function actingFor(ctx: Ctx, named: unknown): Promise<Ctx> {
  if (named === undefined) return ctx
  const { principal } = ctx
  const { projectId } = principal
  const refuse = (message: string) => invalidAt([header], message)
  const kind = typeof named === 'string' ? kindOfId(named) : null
  if (typeof named !== 'string' || (kind !== 'apiKey' && kind !== 'person'))
    throw refuse('must be one id of a person or of the API key of one, as usr_… or key_…')
  if (principal.votes || principal.sessionId !== undefined)
    throw refuse(
      'is for the API keys of programs: this caller is a person, who acts for itself. Leave it out.',
    )
  const bond = { agentId: principal.agentId }
  const assertMayFor = (id: string) => assertMay(ctx, 'persons:ActFor', projectId, `person/${id}`, bond)
  await assertMayFor(named)
  const person = await personActedFor(ctx.db, named, projectId)
  if (person === null)
    throw refuse(
      'names no person of this project who may act now: a key of a person that is neither revoked nor expired, or a person ' +
        'who is signed in or has such a key',
    )
  if (person !== named) await assertMayFor(person)
  return { ...ctx, principal: { ...principal, actsFor: named } }
}

/**
 * The person behind a principal for whom a program acts, as long as that one may act: a key of a person that is neither
 * revoked nor expired, or a person with a token or session that lasts, or with such a key. Else null, also for a principal of
 * another project than the one given.
 */
export async function personActedFor(db: Database, id: string, projectId?: string): Promise<string | null> {
  const isOfKey = sql`votes and invited_until is null and revoked_at is null
    and (expires_at is null or expires_at > clock_timestamp())`
  const isHere = projectId === undefined ? sql`true` : sql`project_id = ${projectId}`
  const [found] = await query(
    db,
    isSubject(id)
      ? sql`select 1 from subjects as s
          where id = ${id} and ${isHere} and (
            expires_at > clock_timestamp()
            or exists (select 1 from sessions where principal_id = s.id and expires_at > clock_timestamp())
            or exists (select 1 from api_keys where id in (${memberOf(id)}) and ${isOfKey})
          )`
      : sql`select 1 from api_keys where id = ${id} and ${isHere} and ${isOfKey}`,
  )
  return found ? (await personsOf(db, [id])).get(id)! : null
}
