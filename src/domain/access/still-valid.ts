/** Whether the one who asked may still act: keys and persons by id, long after their request was authenticated. */
import { and, eq, isNull } from 'drizzle-orm'
import { query, type Database } from '../../store/db/database.ts'
import { memoryOf } from '../../store/db/memory.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { apiKeys } from '../../store/db/tables/access.ts'
import type { Principal } from './context.ts'
import { hasExpired, principalOf, unauthenticated } from './keys.ts'
import { liveSession, sessionEnded } from './sessions.ts'
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
 * Throws UNAUTHENTICATED when the caller's key was revoked, key or token expired, or session ended, since the request
 * was authenticated, by the clock of the database. In a transaction it locks key and session: a revocation waits for
 * the end of the transaction.
 */
export async function assertStillValid(tx: Database, { id, expiresAt, sessionId }: Caller): Promise<void> {
  const rows = await query(
    tx,
    isSubject(id) ? sql`select 1 where ${isUnexpired(expiresAt)}` : sql`${validKey(id)} for share`,
  )
  if (rows.length === 0) throw unauthenticated()
  if (sessionId === undefined) return
  const live = await query(tx, sql`${liveSession(sessionId)} for share`)
  if (live.length === 0) throw sessionEnded()
}

/** Whose validity is proved. */
export type Caller = Pick<Principal, 'id' | 'expiresAt' | 'sessionId'>

/**
 * A condition for a statement: the caller's key was neither revoked nor has it, or the caller's token or session,
 * expired. It is true of the statement's snapshot, and locks nothing.
 */
export function stillValid({ id, expiresAt, sessionId }: Caller): SQL {
  const valid = isSubject(id) ? isUnexpired(expiresAt) : sql`exists (${validKey(id)})`
  return sessionId === undefined ? valid : sql`(${valid} and exists (${liveSession(sessionId)}))`
}

/** The columns of a relation `x` that tell the caller of each of its rows, with their SQL types. */
export const callerColumns = { caller_key: 'text', caller_until: 'timestamptz', caller_session: 'text' }

/** The values of these columns; null: `callersValid` proves nothing of the row. */
export function callerRow(caller: Caller | null): Record<keyof typeof callerColumns, string | null> {
  const isKey = caller !== null && !isSubject(caller.id)
  return {
    caller_key: isKey ? caller.id : null,
    // A token that never expires is not valid.
    caller_until: !caller || isKey ? null : (caller.expiresAt?.toISOString() ?? '-infinity'),
    caller_session: caller?.sessionId ?? null,
  }
}

/** `stillValid` as a condition on a row of `x`. */
export const callersValid: SQL = sql`(x.caller_key is null or exists (${validKey(sql`x.caller_key`)}))
  and (x.caller_until is null or x.caller_until > clock_timestamp())
  and (x.caller_session is null or exists (${liveSession(sql`x.caller_session`)}))`

/**
 * The same with a lock, in two parts of a statement: `relation`, to be named `k`, is empty when `when`, a relation of at
 * most one row, is empty or key or session has ended, and `condition` holds when `k` has its row and no time is over. Key
 * and session are locked after `when` was found, so that a revocation waits for the end of the statement. The statement
 * itself never waits: while one of them is being changed, `k` is empty.
 */
export function lockValid(caller: Caller, when: SQL): { relation: SQL; condition: SQL } {
  return {
    relation: isSubject(caller.id) ? lockOfPerson(caller, when) : lockOfKey(caller, when),
    condition: sql`exists (select 1 from k where expires_at is null or expires_at > clock_timestamp())`,
  }
}

function lockOfPerson({ expiresAt, sessionId }: Caller, when: SQL): SQL {
  const until = sql`${expiresAt?.toISOString() ?? null}::timestamptz`
  if (sessionId === undefined)
    return sql`select ${until} as expires_at from ${when} where ${isUnexpired(expiresAt)}`
  return sql`select least(${until}, s.expires_at) as expires_at
    from sessions as s
    where s.id = ${sessionId} and ${isUnexpired(expiresAt)} and exists (select 1 from ${when})
    for share skip locked`
}

function lockOfKey({ id, sessionId }: Caller, when: SQL): SQL {
  const session = sessionId === undefined ? null : sql`join sessions as s on s.id = ${sessionId}`
  return sql`select ${session ? sql`least(k.expires_at, s.expires_at)` : sql`k.expires_at`} as expires_at
    from api_keys as k ${session ?? sql``}
    where k.id = ${id} and k.revoked_at is null and exists (select 1 from ${when})
    for share skip locked`
}

function isUnexpired(expiresAt: Date | null): SQL {
  return sql`${expiresAt?.toISOString() ?? null}::timestamptz > clock_timestamp()`
}

function validKey(id: string | SQL): SQL {
  return sql`select 1 from api_keys where id = ${id} and revoked_at is null
    and (expires_at is null or expires_at > clock_timestamp())`
}
