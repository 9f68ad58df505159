/** Idempotency keys: the same key with the same request returns the result of the first request. */
import { and, desc, eq, inArray } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { hashJson } from '../../../core/json.ts'
import { nowPlus, query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { idempotencyKeys } from '../../../store/db/tables/access.ts'
import { insertSelect } from '../../../store/db/rows.ts'
import type { Principal } from '../principals/subjects.ts'

/** How long a key is kept after its call or generation was settled, in milliseconds. */
const keyLifetimeMs = 24 * 60 * 60 * 1000
/** When an expired key is checked again because its call or generation is still open, in milliseconds. */
const recheckMs = 60 * 60 * 1000

/** Statuses of a call that is open, or that is UNKNOWN: a person may still resolve it. */
const openStatuses = sql.raw(
  ['PROPOSED', 'AWAITING_APPROVAL', 'APPROVED', 'EXECUTING', 'AWAITING_CLIENT', 'UNKNOWN']
    .map((status) => `'${status}'`)
    .join(', '),
)

const keyLifetime = sql`${keyLifetimeMs}::float8 * interval '1 millisecond'`

/**
 * When the call or generation of a key was settled: `infinity` while it is open or UNKNOWN, null when it was deleted.
 * Reads the tables directly, because their modules are above this one.
 */
function settledAt(resultId: SQL): SQL {
  return sql`coalesce(
    (select case when c.status in (${openStatuses}) then 'infinity'::timestamptz
        else greatest(c.settled_at, c.resolved_at) end
      from tool_calls as c
      where c.id = ${resultId}),
    (select coalesce(r.finished_at, 'infinity'::timestamptz)
      from generations as r
      where r.id = ${resultId}))`
}

/** Whose requests are compared. */
export type Asker = Pick<Principal, 'id' | 'actsFor'>

/** The hash by which requests of a caller count as the same: those of a program for two persons never do. */
export function requestHashOf({ actsFor }: Pick<Asker, 'actsFor'>, request: unknown): string {
  return hashJson(actsFor === undefined ? request : { actsFor, request })
}

export interface IdempotentRequest {
  projectId: string
  principal: Asker
  /** The operation, such as `tools:Call`: the same key may serve different operations. */
  operation: string
  key: string
  /** The whole request without the key. */
  request: unknown
}

/**
 * Binds the key to the request and to `resultId`, the id of what the request will create. Call it first in the
 * transaction that does the work. Returns null when the request is new, else the id that the first request created. A
 * repeat that arrives while the first request is being committed waits for it. A key is kept until 24 hours after its
 * call or generation was settled. Throws IDEMPOTENCY_CONFLICT when the key was used with another request.
 */
export async function rememberRequest(
  tx: Database,
  request: IdempotentRequest,
  resultId: string,
): Promise<string | null> {
  const requestHash = requestHashOf(request.principal, request.request)
  const { projectId, operation, key } = request
  const rows = await query<{ fresh: boolean }>(
    tx,
    sql`${insertSelect(idempotencyKeys, {
      projectId,
      principalId: request.principal.id,
      operation,
      key,
      requestHash,
      resultId,
      expiresAt: nowPlus(keyLifetimeMs),
    })}
      on conflict (project_id, principal_id, operation, key) do update set
        request_hash = excluded.request_hash,
        result_id = excluded.result_id,
        expires_at = excluded.expires_at
      where idempotency_keys.expires_at <= now()
        and coalesce(${settledAt(sql`idempotency_keys.result_id`)} <= now() - ${keyLifetime}, true)
      returning true as fresh`,
  )
  if (rows.length > 0) return null
  return recallRepeat(tx, request)
}

/**
 * The id that this request created; null when no request with its key is remembered. Throws IDEMPOTENCY_CONFLICT when the
 * key was used with another request.
 */
async function recallRepeat(db: Database, request: IdempotentRequest): Promise<string | null> {
  const known = await readRequest(db, request)
  if (known && known.requestHash !== requestHashOf(request.principal, request.request))
    throw new AppError(
      'IDEMPOTENCY_CONFLICT',
      'This idempotencyKey was used with another request. Repeat that request unchanged, or use a new key.',
    )
  return known?.resultId ?? null
}

/** The id that the request with this key created; null when no request with it is remembered. */
export async function recallRequest(
  db: Database,
  key: Omit<IdempotentRequest, 'request'>,
): Promise<string | null> {
  return (await readRequest(db, key))?.resultId ?? null
}

/** The key of an equal request that has created one of these, the newest; null when none is remembered. */
export async function recallEqual(
  db: Database,
  { projectId, principal, operation, request }: Omit<IdempotentRequest, 'key'>,
  resultIds: readonly string[],
): Promise<string | null> {
  if (resultIds.length === 0) return null
  const t = idempotencyKeys
  const isOwn = and(eq(t.projectId, projectId), eq(t.principalId, principal.id), eq(t.operation, operation))
  const [known] = await db
    .select({ key: t.key })
    .from(t)
    .where(
      and(isOwn, eq(t.requestHash, requestHashOf(principal, request)), inArray(t.resultId, [...resultIds])),
    )
    .orderBy(desc(t.resultId))
    .limit(1)
  return known?.key ?? null
}

async function readRequest(
  db: Database,
  { projectId, principal, operation, key }: Omit<IdempotentRequest, 'request'>,
): Promise<{ requestHash: string; resultId: string } | undefined> {
  const t = idempotencyKeys
  const [known] = await db
    .select({ requestHash: t.requestHash, resultId: t.resultId })
    .from(t)
    .where(
      and(
        eq(t.projectId, projectId),
        eq(t.principalId, principal.id),
        eq(t.operation, operation),
        eq(t.key, key),
      ),
    )
  return known
}

/**
 * Whether this is the first use of a key that counts once, such as the signature of a request: of any number of uses at
 * once, on any replica, one is the first. It is remembered for `lifetimeMs`, after which the key must be refused otherwise.
 */
export async function spendOnce(
  db: Database,
  { projectId, principal, operation, key }: Omit<IdempotentRequest, 'request'>,
  lifetimeMs: number,
): Promise<boolean> {
  const rows = await query(
    db,
    sql`${insertSelect(idempotencyKeys, {
      projectId,
      principalId: principal.id,
      operation,
      key,
      requestHash: '',
      resultId: '',
      expiresAt: nowPlus(lifetimeMs),
    })}
      on conflict do nothing
      returning true as fresh`,
  )
  return rows.length > 0
}

/**
 * Processes at most `limit` expired keys; call it again for more. Deletes them, and extends those whose call or
 * generation is open or was settled within the last 24 hours.
 */
export async function forgetExpiredKeys(db: Database, limit = 10_000): Promise<void> {
  await query(
    db,
    sql`with due as (
        select k.ctid as row_id, ${settledAt(sql`k.result_id`)} as settled
        from idempotency_keys as k
        where k.expires_at <= now()
        order by k.expires_at
        limit ${limit}
        for update of k skip locked
      ), checked as (
        select row_id,
          case when settled = 'infinity' then ${nowPlus(recheckMs)} else settled + ${keyLifetime} end as until
        from due
      ), extended as (
        update idempotency_keys as k set expires_at = checked.until
        from checked
        where k.ctid = checked.row_id and checked.until > now()
      )
      delete from idempotency_keys as k
      using checked
      where k.ctid = checked.row_id and (checked.until is null or checked.until <= now())`,
  )
}
