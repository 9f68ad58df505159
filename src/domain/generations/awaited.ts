/**
 * Requests without an idempotency key: one that equals a request whose run still runs or waits at the gate, or whose answer
 * was lost, joins it, so that nobody is asked twice for one intent.
 */
import { nowPlus, query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { awaitedRequests } from '../../store/db/tables/generations.ts'
import { insertSelect } from '../../store/db/rows.ts'
import { requestHashOf, type Asker, type Ctx } from '../access/index.ts'
import { whenLost } from '../calls/index.ts'
import type { Generation } from './generation.ts'

export interface AwaitedRequest {
  projectId: string
  principal: Asker
  operation: string
  /** Everything in the request that changes the run. */
  request: unknown
  /**
   * Joins only a run that a gate has stopped, as a bridged call of a tool does: also one that has waited for longer than the
   * window, which begins anew when the run ends.
   */
  behindGate?: boolean
}

/**
 * The generation of an equal request of the same caller that is not older than `windowMs` and either was not answered, or
 * has not ended and is not being cancelled. Null binds the request to `generationId`. Call it first in the transaction that
 * inserts that generation: of equal requests at once, on any replica, one is the first, and the others wait for it.
 */
export async function joinAwaited(
  tx: Database,
  { request, behindGate = false, ...caller }: AwaitedRequest,
  generationId: string,
  windowMs: number,
): Promise<string | null> {
  if (windowMs === 0) return null
  const { projectId, principal, operation } = caller
  const principalId = principal.id
  const requestHash = requestHashOf(principal, request)
  // A run that this statement cannot see yet has not ended, and no gate has stopped it.
  const fresh = await query(
    tx,
    sql`${insertSelect(awaitedRequests, {
      projectId,
      principalId,
      operation,
      requestHash,
      generationId,
      expiresAt: nowPlus(windowMs),
    })}
      on conflict (project_id, principal_id, operation, request_hash) do update set
        generation_id = excluded.generation_id,
        delivered = false,
        expires_at = excluded.expires_at
      where (
        awaited_requests.expires_at <= now() and not (${behindGate} and exists (
          select 1
          from generations as g
          where g.id = awaited_requests.generation_id and ${isAwaited}
        ))
      ) or exists (
        select 1
        from generations as g
        where g.id = awaited_requests.generation_id
          and (g.cancel_requested_at is not null or (awaited_requests.delivered and g.finished_at is not null))
      ) or (
        ${behindGate} and not exists (
          select 1
          from generations as r
          join approvals as a on a.generation_id = r.id
          where r.id = awaited_requests.generation_id or r.root_id = awaited_requests.generation_id
        )
      )
      returning 1`,
  )
  if (fresh.length > 0) return null
  const [known] = await query<{ id: string }>(
    tx,
    sql`select generation_id as id
      from awaited_requests
      where project_id = ${projectId}
        and principal_id = ${principalId}
        and operation = ${operation}
        and request_hash = ${requestHash}`,
  )
  return known?.id ?? null
}

/**
 * Whether the thread has a run other than that of this request: then the same words mean something else elsewhere. Checks no
 * permission.
 */
export async function hasOtherRuns(
  db: Database,
  { projectId, principal, operation, request }: AwaitedRequest,
  threadId: string,
): Promise<boolean> {
  const rows = await query(
    db,
    sql`select 1
      from generations as g
      where g.thread_id = ${threadId} and not exists (
        select 1
        from awaited_requests as w
        where w.generation_id = g.id
          and w.project_id = ${projectId}
          and w.principal_id = ${principal.id}
          and w.operation = ${operation}
          and w.request_hash = ${requestHashOf(principal, request)}
          and not (w.delivered and g.finished_at is not null)
      )
      limit 1`,
  )
  return rows.length > 0
}

/**
 * This caller has an answer of the generation: call it before the last bytes are sent. Its equal request begins anew from now
 * on when the run has ended, or asks nobody but its client; when it runs or waits at the gate, as soon as it has ended. Those of
 * other callers join as before. `lost` fires when the response does not arrive whole: then an equal request finds the run again.
 */
export async function answerDelivered(
  ctx: Ctx,
  { id }: Pick<Generation, 'id'>,
  lost: AbortSignal,
): Promise<void> {
  const own = sql`generation_id = ${id} and principal_id = ${ctx.principal.id}`
  const rows = await query(
    ctx.db,
    sql`with gone as (
        delete from awaited_requests
        where ${own} and exists (
          select 1
          from generations as g
          where g.id = ${id} and g.finished_at is null and (
            select bool_or(t.status = 'AWAITING_CLIENT') and not bool_or(t.status = 'AWAITING_APPROVAL')
            from generations as r
            join tool_calls as t on t.generation_id = r.id
            where (r.id = ${id} or r.root_id = ${id}) and t.settled_at is null
          )
        )
        returning 1
      )
      update awaited_requests set delivered = true
      where ${own} and not delivered and not exists (select 1 from gone)
      returning 1`,
  )
  if (rows.length === 0) return
  const takeBack = () => query(ctx.db, sql`update awaited_requests set delivered = false where ${own}`)
  whenLost(ctx, lost, takeBack)
}

/** A condition on the run `g`: it has not ended, or within the window, and then its answer was not delivered. */
const isAwaited = sql`(g.finished_at is null or (
  not awaited_requests.delivered and g.finished_at > now() - (awaited_requests.expires_at - g.created_at)))`

/** Deletes what is older than its window, and whose run has ended so long ago. */
export async function forgetAwaited(db: Database): Promise<void> {
  await query(
    db,
    sql`delete from awaited_requests
      where expires_at <= now() and not exists (
        select 1
        from generations as g
        where g.id = awaited_requests.generation_id and ${isAwaited}
      )`,
  )
}
