/** Withdrawing a call, which its caller does by an act of its own, and what the caller has received. */
import { idOf } from '../../core/shapes.ts'
import { z } from 'zod'
import { onAbort } from '../../core/time.ts'
import { errorResult } from '../../core/content.ts'
import { notFound } from '../../core/errors.ts'
import { atomically, query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import { lockOwners, ownerOf } from '../../store/work/owner.ts'
import { assertMay, operation, recordChange, type Ctx } from '../access/index.ts'
import { voidApprovals, voidEvent } from '../approvals/index.ts'
import { updateOwner } from '../events/index.ts'
import {
  callSettled,
  findDirectCall,
  loadCall,
  noteCancelRequested,
  noteFetched as markFetched,
  noteNotFetched,
  settleCalls,
  ToolCall,
} from '../tool-calls/index.ts'
import { callPayload } from './pass-gate.ts'

/** NOT_FOUND for calls of other keys. An idempotent call that runs is aborted, any other is allowed to finish: its row has its outcome. */
export const cancelCall = operation({
  name: 'cancelToolCall',
  does:
    'Withdraws a direct call that your key requested: one that waits for an approval is never run, one that runs is asked to ' +
    'stop. Idempotent; a settled call does not change.',
  permission: 'tools:Call',
  input: z.object({ toolCallId: idOf('toolCall', 'tool call') }).describe('The tool call to withdraw.'),
  payload: callPayload,
  refuses: ['NOT_FOUND'],
  isAction: ['toolCall'],
  async run(ctx, { toolCallId }) {
    const call = await findDirectCall(ctx, toolCallId)
    if (call.requestedBy !== ctx.principal.id) throw notFound('tool call', toolCallId)
    await assertMay(ctx, 'tools:Call', call.projectId, `tool/${call.toolId}`, { by: call.requestedBy })
    const hints = await atomically(ctx.db, async (tx) => {
      const made = await withdraw(tx, call)
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
    return { toolCall: await loadCall(ctx.db, call.id), callbackSecret: null }
  },
})

/**
 * Records that the caller has the outcome: the same request is a new call from now on. `lost` fires when the response does not
 * arrive whole: then the same request finds the outcome.
 */
export async function noteFetched(ctx: Ctx, { id }: Pick<ToolCall, 'id'>, lost: AbortSignal): Promise<void> {
  await query(ctx.db, markFetched(id))
  whenLost(ctx, lost, () => query(ctx.db, noteNotFetched(id)))
}

/** Takes back, when the signal fires, that a response was delivered. A failure is logged. */
export function whenLost(ctx: Ctx, lost: AbortSignal, takeBack: () => Promise<unknown>): void {
  onAbort(lost, () => {
    takeBack().catch((error: unknown) =>
      ctx.log.warn({ err: error }, 'a response was lost, and an equal request does not find its outcome'),
    )
  })
}

const withdrawnResult = errorResult('cancelled', 'The caller withdrew this call; it was not run.')

/** Withdraws the call and returns the hints to publish; null when the call does not wait any more. */
async function withdraw(tx: Database, call: ToolCall): Promise<Hint[] | null> {
  const owner = ownerOf(call)
  await lockOwners(tx, [owner])
  // A call that a person lets run again was sent before: nobody can say that it was not run.
  const proof = sql`t.settled_at is null`
  const outcome = { id: call.id, status: 'CANCELLED' as const, result: withdrawnResult }
  const fenced = { awaited: false, epoch: sql`t.epoch + 1` }
  const rows = await query(
    tx,
    sql`with c as (${settleCalls('withdraw', [outcome], proof, fenced)}),
      v as (${voidApprovals([call.approvalId ?? ''], 'WITHDRAWN', { relation: sql`c` })}) select 1 from c`,
  )
  if (rows.length === 0) return null
  const events = [
    ...(call.approvalId ? [voidEvent(call, 'WITHDRAWN')] : []),
    callSettled({ ...call, stepIndex: null }, 'CANCELLED'),
  ]
  return updateOwner(tx, owner, events, null)
}
