/** The row of a call that no generation works on: read, marked as sent, settled. */
import { sql } from 'drizzle-orm'
import { errorResult, type ToolResult } from '../../core/content.ts'
import { notFound } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { atomically, jsonb, nowPlus, query } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { appendProjectEvents, insertEvents, type NewEvent } from '../../store/events/log.ts'
import type { Lease } from '../../store/work/leases.ts'
import type { Held } from '../../store/work/work.ts'
import { momentNow } from '../../core/stopwatch.ts'
import { insertEntries, type NewAuditEntry } from '../audit/index.ts'
import { reachable, type Ctx, type Services } from '../access/index.ts'
import {
  attemptBegins,
  attemptEnds,
  codeOf,
  loadCall,
  toolCallOf,
  type AskedBack,
  type ToolCall,
} from '../tools/index.ts'

/** The call when it exists for the caller and belongs to no generation, else NOT_FOUND. Checks no permission. */
export async function findCall(ctx: Ctx, id: string): Promise<ToolCall> {
  const [row] = await selectRows(ctx.db, toolCalls, sql`where id = ${id}`)
  const call = toolCallOf(reachable(ctx, row, 'tool call', id))
  if (call.generationId !== null || call.toolId === null) throw notFound('tool call', id)
  return call
}

export function started(toolCallId: string, name: string, attempt: number): NewEvent {
  return { type: 'TOOL_CALL_STARTED', data: { toolCallId, name, attempt } }
}

/** Commits that a claimed call is sent now; null when it is not ours any more. The worker keeps the lease. */
export async function markSent(services: Services, held: Held): Promise<ToolCall | null> {
  const t = toolCalls
  const sent = await atomically(services.db, async (tx) => {
    const [row] = await tx
      .update(t)
      .set({
        status: 'EXECUTING',
        attempt: sql`${t.attempt} + 1`,
        attempts: attemptBegins(sql`id`),
        startedAt: sql`coalesce(${t.startedAt}, now())`,
        wakeAt: nowPlus(services.limits.leaseMs),
      })
      .where(
        sql`${t.id} = ${held.id} and ${t.epoch} = ${held.epoch} and ${t.status} in ('PROPOSED', 'APPROVED', 'EXECUTING')`,
      )
      .returning()
    if (!row) return null
    await appendProjectEvents(tx, row.projectId, [started(row.id, row.runtimeName, row.attempt)])
    return toolCallOf(row)
  })
  if (sent) publishNews(services, sent.projectId)
  return sent
}

/**
 * Writes the outcome if the call is still ours, with its event and audit entry, in one statement. Safe to repeat. Returns
 * the call as it stands.
 */
export async function settle(
  services: Pick<Services, 'db' | 'leaseDb' | 'pubsub'>,
  held: Held,
  call: ToolCall,
  result: ToolResult,
  status: 'SUCCEEDED' | 'ERRORED' | 'UNKNOWN' = result.isError ? 'ERRORED' : 'SUCCEEDED',
): Promise<ToolCall> {
  const errorCode = codeOf(result)
  const told = { toolCallId: call.id, name: call.runtimeName, status }
  const rows = await query<Pick<ToolCall, 'result' | 'attempt' | 'attempts'> & { settledMs: number }>(
    services.leaseDb,
    sql`with g as (update tool_calls set status = ${status}, result = ${jsonb(result)},
        is_error = ${result.isError}::boolean, error_code = ${errorCode}::text, settled_at = now(), wake_at = null, asked = null,
        attempts = ${attemptEnds(sql`${status}::text`, sql`${errorCode}::text`)}
        where id = ${held.id} and epoch = ${held.epoch}
          and status in ('EXECUTING', 'APPROVED', 'PROPOSED', 'AWAITING_CLIENT')
        returning project_id, result, attempt, attempts, settled_at),
      e as (${insertEvents(sql`select project_id, null::text as generation_id, null::int as seq,
        'TOOL_CALL_SETTLED' as type, ${jsonb(told)} as data from g`)}),
      a as (${insertEntries([executed(call, status)])})
      select result, attempt, attempts, (extract(epoch from settled_at) * 1000)::float8 as "settledMs" from g`,
  )
  if (!rows[0]) return loadCall(services.db, call.id)
  publishNews(services, call.projectId)
  const { settledMs, ...written } = rows[0]
  return { ...call, ...written, status, isError: result.isError, errorCode, settledAt: new Date(settledMs) }
}

/** How long an upstream that asked back is waited for by its caller, in milliseconds. */
const askedMs = 10 * 60 * 1000

/** Parks a call whose upstream wants to know something first; answers the call as it stands. */
export async function askBack(
  services: Services,
  held: Held,
  call: ToolCall,
  asked: AskedBack,
): Promise<ToolCall> {
  const status = sql`'AWAITING_CLIENT'::text`
  const rows = await query(
    services.db,
    sql`update tool_calls set status = 'AWAITING_CLIENT', asked = ${jsonb(asked)}, wake_at = ${nowPlus(askedMs)},
        deadline_at = ${nowPlus(askedMs)}, attempts = ${attemptEnds(status, sql`null::text`)}
      where id = ${held.id} and epoch = ${held.epoch} and status = 'EXECUTING' and cancel_requested_at is null
      returning 1`,
  )
  if (rows.length === 0 && (await loadCall(services.db, call.id)).cancelRequestedAt)
    return settle(services, held, call, errorResult('cancelled', 'The caller withdrew this call.'))
  publishNews(services, call.projectId)
  return loadCall(services.db, call.id)
}

/**
 * Adds answers to what was asked of the caller. Null when some are missing still, or nothing is asked any more; else the
 * call is sent on by whoever gets this, who keeps the lease.
 */
export async function goOnAsked(
  ctx: Ctx,
  { id, projectId }: ToolCall,
  answers: JsonObject,
): Promise<{ call: ToolCall; asked: AskedBack; lease: Lease } | null> {
  const since = momentNow()
  const gone = await atomically(ctx.db, async (tx) => {
    const t = toolCalls
    const [row] = await tx
      .select()
      .from(t)
      .where(sql`${t.id} = ${id} and ${t.status} = 'AWAITING_CLIENT'`)
      .for('update')
    if (!row) return null
    const before = row.asked as AskedBack
    const given = Object.entries(answers).filter(([key]) => Object.hasOwn(before.inputRequests, key))
    const asked = { ...before, answers: { ...before.answers, ...Object.fromEntries(given) } }
    const complete = Object.keys(asked.inputRequests).every((key) => Object.hasOwn(asked.answers, key))
    const [changed] = await tx
      .update(t)
      .set(
        complete
          ? {
              asked,
              status: 'EXECUTING',
              attempt: sql`${t.attempt} + 1`,
              attempts: attemptBegins(sql`id`),
              epoch: sql`${t.epoch} + 1`,
              deadlineAt: null,
              wakeAt: nowPlus(ctx.limits.leaseMs),
            }
          : { asked },
      )
      .where(sql`${t.id} = ${id}`)
      .returning()
    if (complete) await appendProjectEvents(tx, projectId, [started(id, row.runtimeName, row.attempt + 1)])
    return complete ? { call: toolCallOf(changed!), asked, epoch: changed!.epoch } : null
  })
  publishNews(ctx, projectId)
  if (!gone) return null
  const { epoch, ...more } = gone
  return { ...more, lease: ctx.callLeases.keep({ id, epoch }, since) }
}

function executed({ id, projectId, requestedBy, toolId, attempt }: ToolCall, status: string): NewAuditEntry {
  return {
    projectId,
    principalId: requestedBy,
    action: 'tools:Call',
    resource: `tool/${toolId ?? ''}`,
    outcome: 'EXECUTED',
    details: { toolCallId: id, status, attempt },
  }
}

export function publishNews(services: Pick<Services, 'pubsub'>, projectId: string): void {
  services.pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
}
