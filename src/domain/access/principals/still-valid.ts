/**
 * Principals by id: whether the one who asked may still act long after the request, who answers from outside the page,
 * and their names.
 */
import type { z } from 'zod'
import { part } from '../../../core/shapes.ts'
import * as view from '../../../core/view.ts'
import { and, eq, isNull, inArray } from 'drizzle-orm'
import { query, type Database } from '../../../store/db/database.ts'
import { memoryOf, liveSession, notOver, validKey, type Basis } from '../../basis/index.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { apiKeys, sessions, subjects } from '../../../store/db/tables/access.ts'
import {
  type Principal,
  actsForOf,
  isSubject,
  subjectById,
  type Requester,
  principalOfSubject,
  principalKind,
  principalKindChoice,
} from './subjects.ts'
import { hasExpired, principalOf, unauthenticatedError } from './keys.ts'
import { sessionEnded } from './sessions.ts'
import { invalidAt, type AppError } from '../../../core/errors.ts'
import { type Ctx, reaches } from '../context/context.ts'
import { denialError, visibleRows, holds } from '../permission/permission.ts'
import { personActedFor } from './acting-for.ts'
import { memberOf } from './persons.ts'
import { type Action, type Role, allows } from '../permission/policy.ts'

/**
 * The principal that started a call or generation, when it may still act: a key that is neither revoked nor expired, or
 * a person with the rights stored with the request (see requesterOf), until the token of that request expires; else
 * null. So it is when a program has started it for a person who may not act any more.
 */
export async function principalById(
  db: Database,
  id: string,
  now: number,
  requester: Requester | null = null,
): Promise<Principal | null> {
  if (isSubject(id)) {
    const subject = requester && 'role' in requester ? await subjectById(db, id, requester) : null
    return subject && !hasExpired(subject, now) ? subject : null
  }
  const [row] = await db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
  const principal = row ? principalOf(row) : null
  if (principal) keysOf(db).set(id, principal)
  else keysOf(db).delete(id)
  if (!principal || hasExpired(principal, now)) return null
  const actsFor = actsForOf(requester)
  if (actsFor === null) return principal
  return (await personActedFor(db, actsFor)) === null ? null : { ...principal, actsFor }
}

/** Keys that principalById has read. The rights of a key never change; it can only be revoked, or expire. */
const keysOf = memoryOf<Principal>(10_000)

/**
 * The principal of a key that this process has read before, without a statement; null when it has not, or the key has
 * expired, and for a program that acts for a person, of whom nothing is remembered. It may have been revoked: the statement
 * that relies on it proves `basisOf` it.
 */
export function rememberedPrincipal(
  db: Database,
  id: string,
  now: number,
  requester: Requester | null,
): Principal | null {
  const principal = requester === null ? (keysOf(db).get(id) ?? null) : null
  return principal && !hasExpired(principal, now) ? principal : null
}

/** Whose validity is proved. */
export type Caller = Pick<Principal, 'id' | 'expiresAt' | 'sessionId'>

/** The basis of a judgement that relies on the caller: the key, token and session with which it asks. */
export function basisOf({ id, expiresAt, sessionId }: Caller): Basis {
  // A token that never expires is not valid.
  const until = () => expiresAt?.toISOString() ?? '-infinity'
  return { ...(isSubject(id) ? { until: until() } : { keyId: id }), sessionId }
}

/**
 * Throws UNAUTHENTICATED when the caller's key was revoked, key or token expired, or session ended, since the request
 * was authenticated, by the clock of the database. In a transaction it locks key and session: a revocation waits for
 * the end of the transaction.
 */
export async function assertStillValid(tx: Database, caller: Caller): Promise<void> {
  const { keyId, until, sessionId } = basisOf(caller)
  const rows = await query(
    tx,
    keyId ? sql`${validKey(keyId)} for share` : sql`select 1 where ${notOver(until!)}`,
  )
  if (rows.length === 0) throw unauthenticatedError()
  if (!sessionId) return
  const live = await query(tx, sql`${liveSession(sessionId)} for share`)
  if (live.length === 0) throw sessionEnded()
}

/**
 * `prove` with a lock, for a statement that waits for nothing: relations that are empty when `when`, a relation of at most
 * one row, is empty, when key or session has ended, and while one of them is being changed; and the condition that they are
 * not. They are locked after `when` was found, so that a revocation waits for the end of the statement.
 */
export function lockValid(caller: Caller, when: SQL): { relations: SQL; condition: SQL } {
  const { keyId, until, sessionId } = basisOf(caller)
  const key = keyId
    ? sql`${validKey(keyId)} and exists (select 1 from ${when}) for share skip locked`
    : sql`select 1 from ${when} where ${notOver(until!)}`
  if (!sessionId) return { relations: sql`k as (${key})`, condition: sql`exists (select 1 from k)` }
  const session = sql`${liveSession(sessionId)} and exists (select 1 from k) for share skip locked`
  return {
    relations: sql`k as (${key}), ks as (${session})`,
    condition: sql`exists (select 1 from ks)`,
  }
}

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
    throw await denialError(
      ctx,
      what,
      "Only an operator's key may direct the votes of another key or person.",
    )
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

/** Who did something, for people to read. */
export const principalShape = part(
  'Principal',
  'An API key, a person or the server itself, as the one that did something.',
  {
    id: view.id('The id of the principal: key_… of an API key, usr_… of a person, or "system".'),
    kind: principalKindChoice.describe('The kind of the principal.'),
    name: view
      .text(
        'The name of the API key or person as it is now; null for the server, and when the principal was deleted, ' +
          'is of another project or is hidden from the caller, who needs the permission keys:Get.',
      )
      .nullable(),
  },
)
export type NamedPrincipal = z.output<typeof principalShape>

interface Row {
  id: string
  projectId: string
  name: string
}

/**
 * The principals with these ids, in their order; there is one for every id. A caller sees its own name, and with the
 * action `keys:Get` those of its project. One statement.
 */
export async function namePrincipals(ctx: Ctx, ids: readonly string[]): Promise<NamedPrincipal[]> {
  const rows = new Map((await loadNames(ctx, ids)).map((row) => [row.id, row]))
  return ids.map((id) => {
    const row = rows.get(id)
    return { id, kind: principalKind(id), name: row && maySee(ctx, row) ? row.name : null }
  })
}

function maySee(ctx: Ctx, { id, projectId }: Row): boolean {
  const { principal } = ctx
  if (id === principal.id) return true
  return reaches(ctx, projectId) && holds(principal, {}) && allows(principal.policy, 'keys:Get', `key/${id}`)
}

/** Persons by id, null for what does not exist for the caller. Action `keys:Get` on each. */
export async function getPersons(ctx: Ctx, ids: readonly string[]): Promise<(NamedPrincipal | null)[]> {
  const rows = (await loadNames(ctx, ids)).filter(({ id }) => principalKind(id) === 'PERSON')
  const seen = await visibleRows(ctx, ids, rows, 'keys:Get', ({ id }) => `key/${id}`)
  return seen.map((row) => row && { id: row.id, kind: 'PERSON', name: row.name })
}

async function loadNames({ db }: Ctx, ids: readonly string[]): Promise<Row[]> {
  const wanted = [...new Set(ids)].filter((id) => principalKind(id) !== 'SYSTEM')
  if (wanted.length === 0) return []
  return query(
    db,
    sql`select id, project_id as "projectId", name from api_keys where id in ${wanted}
      union all
      select id, project_id as "projectId", name from subjects where id in ${wanted}`,
  )
}
