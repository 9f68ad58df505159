/** Whether the one who asked may still act: keys and persons by id, long after their request was authenticated. */
import { and, eq, isNull } from 'drizzle-orm'
import { query, type Database } from '../../store/db/database.ts'
import { memoryOf } from '../../store/db/memory.ts'
import { liveSession, notOver, validKey, type Basis } from '../../store/db/proof.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { apiKeys } from '../../store/db/tables/access.ts'
import type { Principal } from './principal.ts'
import { hasExpired, principalOf, unauthenticated } from './keys.ts'
import { sessionEnded } from './sessions.ts'
import { isSubject, subjectById, type Requester } from './subjects.ts'

/**
 * The principal that started a call or generation, when it may still act: a key that is neither revoked nor expired, or
 * a person with the rights stored with the request (see requesterOf), until the token of that request expires; else
 * null.
 */
export async function principalById(
  db: Database,
  id: string,
  now: number,
  requester: Requester | null = null,
): Promise<Principal | null> {
  if (isSubject(id)) {
    const subject = requester ? await subjectById(db, id, requester) : null
    return subject && !hasExpired(subject, now) ? subject : null
  }
  const [row] = await db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
  const principal = row ? principalOf(row) : null
  if (principal) keysOf(db).set(id, principal)
  else keysOf(db).delete(id)
  return principal && !hasExpired(principal, now) ? principal : null
}

/** Keys that principalById has read. The rights of a key never change; it can only be revoked, or expire. */
const keysOf = memoryOf<Principal>(10_000)

/**
 * The principal of a key that this process has read before, without a statement; null when it has not, or the key has
 * expired. It may have been revoked: the statement that relies on it proves `basisOf` it.
 */
export function rememberedPrincipal(db: Database, id: string, now: number): Principal | null {
  const principal = keysOf(db).get(id) ?? null
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
  if (rows.length === 0) throw unauthenticated()
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
