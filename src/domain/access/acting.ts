/** People who answer from outside the page: the principal behind a link or a Slack user, at the time of the answer. */
import { and, eq, inArray, isNull } from 'drizzle-orm'
import { invalidAt, type AppError } from '../../core/errors.ts'
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { apiKeys, sessions, subjects } from '../../store/db/tables/access.ts'
import type { Ctx } from './context.ts'
import type { Principal } from './principal.ts'
import { denied } from './permission.ts'
import { memberOf } from './persons.ts'
import type { Action, Role } from './policy.ts'
import { principalById } from './still-valid.ts'
import { isSubject, principalOfSubject } from './subjects.ts'

/**
 * The principal with this id in a project, with the rights that it has now: a key that is neither revoked nor expired,
 * or a person with the role of the newest session that lasts, else of the newest token while that lasts. Null when it
 * may not act any more. The session is part of the principal, so that its end refuses a vote under way.
 */
export async function actingPrincipal(
  db: Database,
  projectId: string,
  id: string,
  now: number,
): Promise<Principal | null> {
  if (!isSubject(id)) {
    const key = await principalById(db, id, now)
    return key && (key.installation || key.projectId === projectId) ? key : null
  }
  const [person] = await db
    .select()
    .from(subjects)
    .where(and(eq(subjects.id, id), eq(subjects.projectId, projectId)))
  if (!person) return null
  const [session] = await db
    .select({ id: sessions.id, role: sessions.role, expiresAt: sessions.expiresAt })
    .from(sessions)
    .where(and(eq(sessions.principalId, id), sql`${sessions.expiresAt} > now()`))
    .orderBy(sql`${sessions.createdAt} desc`)
    .limit(1)
  if (session)
    return {
      ...principalOfSubject(person, session.role as Role, session.expiresAt),
      sessionId: session.id,
    }
  return person.expiresAt.getTime() > now
    ? principalOfSubject(person, person.role as Role, person.expiresAt)
    : null
}

/**
 * Throws unless the caller may direct the answers of these principals to a place outside the page, since whoever holds
 * that place votes for them: an operator for everybody in the project, anybody else for itself and the keys made with it.
 * INVALID for what is no principal of the project that can vote; FORBIDDEN, audited, for any other.
 */
export async function assertSpeaksFor(
  ctx: Ctx,
  what: { action: Action; projectId: string; resource: string },
  given: readonly { id: string; path: string[] }[],
): Promise<void> {
  if (given.length === 0) return
  const ids = given.map(({ id }) => id)
  const known = await votersOf(ctx.db, what.projectId, ids)
  const unknown = given.find(({ id }) => !known.has(id))
  if (unknown) throw notVoting(unknown.path)
  if (ctx.principal.installation) return
  const own = await query<{ id: string }>(
    ctx.db,
    sql`select id from (${memberOf(ctx.principal.id)}) as mine where id in ${ids}`,
  )
  if (own.length < new Set(ids).size)
    throw await denied(ctx, what, "Only an operator's key may direct the votes of another key or person.")
}

function notVoting(path: string[]): AppError {
  return invalidAt(path, 'must be the id of a person, or of a key that may vote, in this project')
}

/** The ids that are of a person of the project, or of a key of it that may vote and is bound to no agent. */
async function votersOf(db: Database, projectId: string, ids: readonly string[]): Promise<Set<string>> {
  const all = [...new Set(ids)]
  const keys = await db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(
      and(
        inArray(apiKeys.id, all),
        sql`(${apiKeys.projectId} = ${projectId} or ${apiKeys.installation})`,
        eq(apiKeys.votes, true),
        isNull(apiKeys.agentId),
        isNull(apiKeys.revokedAt),
      ),
    )
  const people = await db
    .select({ id: subjects.id })
    .from(subjects)
    .where(and(inArray(subjects.id, all), eq(subjects.projectId, projectId)))
  return new Set([...keys, ...people].map(({ id }) => id))
}
