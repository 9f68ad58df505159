/** The memory of requests that may be repeated: same key and same request give the same answer. */
import { and, eq, sql } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import { hashJson } from '../../core/json.ts'
import { nowPlus, query, type Database } from '../../store/db/database.ts'
import { idempotencyKeys } from '../../store/db/tables/access.ts'

/** How long a key is remembered. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000

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
 * while the first is being committed waits for it. Same key, other request: IDEMPOTENCY_CONFLICT.
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
        where idempotency_keys.expires_at <= now()
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

/** Forgets keys whose time is over; bounded, to be called again. */
export async function forgetExpiredKeys(db: Database): Promise<void> {
  await query(
    db,
    sql`delete from idempotency_keys where ctid in
      (select ctid from idempotency_keys where expires_at <= now() limit 10000)`,
  )
}
