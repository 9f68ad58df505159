/** Whether the one who asked may still act: keys and persons by id, long after their request was authenticated. */
import { and, eq, isNull, sql, type SQL } from 'drizzle-orm'
import { query, type Database } from '../../store/db/database.ts'
import { memoryOf } from '../../store/db/memory.ts'
import { apiKeys } from '../../store/db/tables/access.ts'
import type { Principal } from './context.ts'
import { hasExpired, principalOf, unauthenticated } from './keys.ts'
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
 * expired. It may have been revoked: `stillValid` must be a condition of the statement that relies on it.
 */
export function rememberedPrincipal(db: Database, id: string, now: number): Principal | null {
  const principal = keysOf(db).get(id) ?? null
  return principal && !hasExpired(principal, now) ? principal : null
}

/**
 * Throws UNAUTHENTICATED when the caller's key was revoked, or key or token expired, since the request was
 * authenticated, by the clock of the database. In a transaction it locks the key: a revocation waits for the end of the
 * transaction.
 */
export async function assertStillValid(
  tx: Database,
  { id, expiresAt }: Pick<Principal, 'id' | 'expiresAt'>,
): Promise<void> {
  const rows = await query(
    tx,
    isSubject(id) ? sql`select 1 where ${isUnexpired(expiresAt)}` : sql`${validKey(id)} for share`,
  )
  if (rows.length === 0) throw unauthenticated()
}

/**
 * A condition for a statement: the caller's key was neither revoked nor has it, or the caller's token, expired. It is
 * true of the statement's snapshot, and locks nothing.
 */
export function stillValid({ id, expiresAt }: Pick<Principal, 'id' | 'expiresAt'>): SQL {
  return isSubject(id) ? isUnexpired(expiresAt) : sql`exists (${validKey(id)})`
}

function isUnexpired(expiresAt: Date | null): SQL {
  return sql`${expiresAt?.toISOString() ?? null}::timestamptz > clock_timestamp()`
}

function validKey(id: string): SQL {
  return sql`select 1 from api_keys where id = ${id} and revoked_at is null
    and (expires_at is null or expires_at > clock_timestamp())`
}
