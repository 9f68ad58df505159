/** The memory of requests that may be repeated: same key and same request give the same answer. */
import { and, eq, sql, type SQL } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import { hashJson } from '../../core/json.ts'
import { nowPlus, query, type Database } from '../../store/db/database.ts'
import { idempotencyKeys } from '../../store/db/tables/access.ts'

/** How long a key is remembered after what it made has been settled. */
const keyLifetimeMs = 24 * 60 * 60 * 1000
/** When a key whose time is over is looked at again because its call or run goes on. */
const lookAgainMs = 60 * 60 * 1000

/**
 * When what the key made was settled: `infinity` for a call or run that is open, and for an outcome that is unknown and
 * that no person has settled; null when it is gone. The tables are asked directly: their rooms stand higher.
 */
function settledAt(resultId: SQL): SQL {
  return sql`coalesce(
    (select case when c.status in ('PROPOSED', 'AWAITING_APPROVAL', 'APPROVED', 'EXECUTING', 'AWAITING_CLIENT', 'UNKNOWN')
        then 'infinity'::timestamptz else greatest(c.settled_at, c.resolved_at) end
      from tool_calls as c where c.id = ${resultId}),
    (select coalesce(r.finished_at, 'infinity'::timestamptz) from generations as r where r.id = ${resultId}))`
}

export interface IdempotentRequest {
  projectId: string
  principalId: string
  /** The operation, such as `tools:Call`: the same key may serve different operations. */
  operation: string
  key: string
  /** Everything the request says, the key left out. */
  request: unknown
}

/**
 * Call it first in the transaction that does the work, with the id that the work will have. Answers null when the
 * request is new (the key is now bound to `resultId`), or the id that the first request made. A repeat that arrives
 * while the first is being committed waits for it. A key is remembered until 24 hours after its call or run was settled.
 * Same key, other request: IDEMPOTENCY_CONFLICT.
 */
export async function rememberRequest(
  tx: Database,
  request: IdempotentRequest,
  resultId: string,
): Promise<string | null> {
  const requestHash = hashJson(request.request)
  const { projectId, principalId, operation, key } = request
  const rows = await query<{ fresh: boolean }>(
    tx,
    sql`insert into idempotency_keys (project_id, principal_id, operation, key, request_hash, result_id, expires_at)
      values (${projectId}, ${principalId}, ${operation}, ${key}, ${requestHash}, ${resultId}, ${nowPlus(keyLifetimeMs)})
      on conflict (project_id, principal_id, operation, key) do update
        set request_hash = excluded.request_hash, result_id = excluded.result_id, expires_at = excluded.expires_at
        where idempotency_keys.expires_at <= now() and coalesce(
          ${settledAt(sql`idempotency_keys.result_id`)} <= now() - ${keyLifetimeMs}::float8 * interval '1 millisecond', true)
      returning true as fresh`,
  )
  if (rows.length > 0) return null
  const t = idempotencyKeys
  const [known] = await tx
    .select({ requestHash: t.requestHash, resultId: t.resultId })
    .from(t)
    .where(
      and(
        eq(t.projectId, projectId),
        eq(t.principalId, principalId),
        eq(t.operation, operation),
        eq(t.key, key),
      ),
    )
  if (known!.requestHash !== requestHash)
    throw new AppError(
      'IDEMPOTENCY_CONFLICT',
      'This idempotencyKey was used with another request. Send the same request again, or a new key for a new one.',
    )
  return known!.resultId
}

/**
 * Forgets keys whose time is over, of at most `limit` that are due; to be called again. Those whose call or run goes on, or
 * has ended within the last 24 hours, are due again later.
 */
export async function forgetExpiredKeys(db: Database, limit = 10_000): Promise<void> {
  await query(
    db,
    sql`with due as (
        select k.ctid as place, ${settledAt(sql`k.result_id`)} as settled from idempotency_keys as k
        where k.expires_at <= now() order by k.expires_at limit ${limit} for update of k skip locked
      ), judged as (
        select place, case when settled = 'infinity' then ${nowPlus(lookAgainMs)}
          else settled + ${keyLifetimeMs}::float8 * interval '1 millisecond' end as until from due
      ), kept as (
        update idempotency_keys as k set expires_at = judged.until from judged
        where k.ctid = judged.place and judged.until > now()
      )
      delete from idempotency_keys as k using judged
      where k.ctid = judged.place and (judged.until is null or judged.until <= now())`,
  )
}
