/** Taking a call back: its caller does not want it any more, or has gone away. */
import { and, eq, isNotNull, sql } from 'drizzle-orm'
import { errorResult } from '../../core/content.ts'
import { notFound } from '../../core/errors.ts'
import { atomically, jsonb, nowPlus, query, type Database } from '../../store/db/database.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import type { Hint } from '../../store/events/pubsub.ts'
import { lockOwners, ownerOf, tellOwner } from '../../store/work/owner.ts'
import { assertMay, recordChange, type Ctx, type Services } from '../access/index.ts'
import { voidApprovals, voided } from '../approvals/index.ts'
import { loadCall, type ToolCall } from '../tools/index.ts'
import { findCall } from './row.ts'

/**
 * Ends a call that its caller does not want any more. Action `tools:Call`, and only for who asked for it; anybody
 * else's does not exist. One that waits for a person is withdrawn and never runs. One that runs is told to stop: an
 * idempotent call is cut off, any other is heard out, and its row tells what became of it. Idempotent.
 */
export async function cancelCall(ctx: Ctx, input: { toolCallId: string }): Promise<ToolCall> {
  const call = await findCall(ctx, input.toolCallId)
  if (call.requestedBy !== ctx.principal.id) throw notFound('tool call', input.toolCallId)
  await assertMay(ctx, 'tools:Call', call.projectId, `tool/${call.toolId}`, { by: call.requestedBy })
  const hints = await atomically(ctx.db, async (tx) => {
    const made = await withdraw(tx, call, false)
    if (!made) await askToStop(tx, call.id)
    await recordChange(tx, ctx, {
      projectId: call.projectId,
      action: 'tools:Call',
      resource: `tool/${call.toolId}`,
      details: { toolCallId: call.id, cancelled: true },
    })
    return made ?? []
  })
  ctx.pubsub.publish([...hints, { kind: 'signal', name: 'cancel', id: call.id }])
  return loadCall(ctx.db, call.id)
}

/** Withdraws a call whose caller hung up and did not come back. Nothing when it did, or when somebody has decided. */
export async function withdrawAbandoned(services: Services, call: ToolCall): Promise<void> {
  const hints = await atomically(services.db, (tx) => withdraw(tx, call, true))
  if (hints) services.pubsub.publish(hints)
}

/** Notes that the caller hung up while it waited for a person: the call is withdrawn after so many milliseconds. */
export async function noteGone(ctx: Ctx, call: Pick<ToolCall, 'id'>, afterMs: number): Promise<void> {
  const t = toolCalls
  await ctx.db
    .update(t)
    .set({ callerGoneAt: sql`now()`, wakeAt: nowPlus(afterMs) })
    .where(and(eq(t.id, call.id), eq(t.status, 'AWAITING_APPROVAL')))
}

/** Notes that the caller is back, and waits. */
export async function noteBack(ctx: Ctx, call: Pick<ToolCall, 'id'>): Promise<void> {
  const t = toolCalls
  await ctx.db
    .update(t)
    .set({ callerGoneAt: null, wakeAt: null })
    .where(and(eq(t.id, call.id), eq(t.status, 'AWAITING_APPROVAL'), isNotNull(t.callerGoneAt)))
}

/** Notes that the caller has the outcome: the same request is a new call from now on. */
export async function noteFetched(ctx: Ctx, call: Pick<ToolCall, 'id'>): Promise<void> {
  await ctx.db.update(toolCalls).set({ awaited: false }).where(eq(toolCalls.id, call.id))
}

const withdrawnResult = errorResult('cancelled', 'The caller withdrew this call; it was not run.')

/** Answers what to ring, or null when the call does not wait any more. */
async function withdraw(tx: Database, call: ToolCall, onlyGone: boolean): Promise<Hint[] | null> {
  const owner = ownerOf(call)
  await lockOwners(tx, [owner])
  const gone = onlyGone ? sql`and caller_gone_at is not null` : sql``
  const rows = await query(
    tx,
    sql`with c as (update tool_calls set status = 'CANCELLED', result = ${jsonb(withdrawnResult)}, is_error = true,
        error_code = 'cancelled', settled_at = now(), awaited = false, wake_at = null, epoch = epoch + 1
        where id = ${call.id} and status in ('AWAITING_APPROVAL', 'APPROVED', 'AWAITING_CLIENT') ${gone} returning id),
      v as (${voidApprovals([call.approvalId ?? ''], 'WITHDRAWN', { relation: sql`c` })}) select 1 from c`,
  )
  if (rows.length === 0) return null
  const data = { toolCallId: call.id, name: call.runtimeName, status: 'CANCELLED' }
  const events = [
    ...(call.approvalId ? [voided(call, 'WITHDRAWN')] : []),
    { type: 'TOOL_CALL_SETTLED', data },
  ]
  return tellOwner(tx, owner, events, null)
}

async function askToStop(tx: Database, id: string): Promise<void> {
  const t = toolCalls
  await tx
    .update(t)
    .set({ cancelRequestedAt: sql`coalesce(${t.cancelRequestedAt}, now())`, awaited: false })
    .where(and(eq(t.id, id), sql`${t.settledAt} is null`))
}
