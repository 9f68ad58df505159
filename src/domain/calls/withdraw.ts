/** Taking a call back: its caller does not want it any more, or has gone away. */
import { sql } from 'drizzle-orm'
import { errorResult } from '../../core/content.ts'
import { notFound } from '../../core/errors.ts'
import { atomically, query, type Database } from '../../store/db/database.ts'
import type { Hint } from '../../store/events/pubsub.ts'
import { lockOwners, ownerOf } from '../../store/work/owner.ts'
import { assertMay, recordChange, type Ctx, type Services } from '../access/index.ts'
import { voidApprovals, voided } from '../approvals/index.ts'
import { updateOwner } from '../events/index.ts'
import {
  callSettled,
  findDirectCall,
  loadCall,
  noteCallerBack,
  noteCallerGone,
  noteCancelRequested,
  noteFetched as markFetched,
  settleCalls,
  underLock,
  type ToolCall,
} from '../tool-calls/index.ts'

/**
 * Ends a call that its caller does not want any more. Action `tools:Call`, and only for who asked for it; anybody
 * else's does not exist. One that waits for a person is withdrawn and never runs. One that runs is told to stop: an
 * idempotent call is cut off, any other is heard out, and its row tells what became of it. Idempotent.
 */
export async function cancelCall(ctx: Ctx, input: { toolCallId: string }): Promise<ToolCall> {
  const call = await findDirectCall(ctx, input.toolCallId)
  if (call.requestedBy !== ctx.principal.id) throw notFound('tool call', input.toolCallId)
  await assertMay(ctx, 'tools:Call', call.projectId, `tool/${call.toolId}`, { by: call.requestedBy })
  const hints = await atomically(ctx.db, async (tx) => {
    const made = await withdraw(tx, call, false)
    if (!made) await query(tx, noteCancelRequested(call.id))
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
  await query(ctx.db, noteCallerGone(call.id, afterMs))
}

/** Notes that the caller is back, and waits. */
export async function noteBack(ctx: Ctx, call: Pick<ToolCall, 'id'>): Promise<void> {
  await query(ctx.db, noteCallerBack(call.id))
}

/** Notes that the caller has the outcome: the same request is a new call from now on. */
export async function noteFetched(ctx: Ctx, call: Pick<ToolCall, 'id'>): Promise<void> {
  await query(ctx.db, markFetched(call.id))
}

const withdrawnResult = errorResult('cancelled', 'The caller withdrew this call; it was not run.')

/** Returns the hints to publish, or null when the call does not wait any more. */
async function withdraw(tx: Database, call: ToolCall, onlyGone: boolean): Promise<Hint[] | null> {
  const owner = ownerOf(call)
  await lockOwners(tx, [owner])
  const proof = onlyGone ? sql`t.caller_gone_at is not null` : underLock
  const outcome = { id: call.id, status: 'CANCELLED' as const, result: withdrawnResult }
  const fenced = { awaited: false, epoch: sql`t.epoch + 1` }
  const rows = await query(
    tx,
    sql`with c as (${settleCalls('withdraw', [outcome], proof, fenced)}),
      v as (${voidApprovals([call.approvalId ?? ''], 'WITHDRAWN', { relation: sql`c` })}) select 1 from c`,
  )
  if (rows.length === 0) return null
  const events = [
    ...(call.approvalId ? [voided(call, 'WITHDRAWN')] : []),
    callSettled({ ...call, stepIndex: null }, 'CANCELLED'),
  ]
  return updateOwner(tx, owner, events, null)
}
