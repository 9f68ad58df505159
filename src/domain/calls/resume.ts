/** What a worker does with the row of a call: an approved one runs, one that was left behind is repeated or given up. */
import { sql } from 'drizzle-orm'
import { errorResult } from '../../core/content.ts'
import { atomically, query } from '../../store/db/database.ts'
import { appendProjectEvents } from '../../store/events/log.ts'
import { lockOwners, ownerOf } from '../../store/work/owner.ts'
import { LeaseLostError, type Held } from '../../store/work/work.ts'
import type { House } from '../access/index.ts'
import {
  driftOf,
  driftResult,
  insertApprovals,
  requested,
  voidApprovals,
  voided,
  type Drift,
} from '../approvals/index.ts'
import {
  goneResult,
  isIdempotent,
  loadCall,
  prepareCall,
  proposedCallable,
  runTool,
  unknownResult,
  type ToolCall,
} from '../tools/index.ts'
import { markSent, ringNews, settle } from './row.ts'
import { withdrawAbandoned } from './withdraw.ts'

/**
 * Works on a claimed call. APPROVED runs, after a look whether it is still what was agreed to; PROPOSED is one that a
 * person lets run again. EXECUTING was left behind by a process that went away: an idempotent one runs again under the
 * same key, any other becomes UNKNOWN and is never sent twice. One that waits for a person is due when its caller hung
 * up: it is withdrawn.
 */
export async function workOnCall(house: House, held: Held, signal: AbortSignal): Promise<void> {
  const call = await loadCall(house.db, held.id)
  if (call.status === 'APPROVED') {
    const drift = await driftOf(house, call, call.agentGate ? [call.agentGate] : [])
    if (drift) return askAgain(house, held, call, drift)
  } else if (call.status === 'EXECUTING') {
    const callable = await proposedCallable(house, call)
    if (!callable || !isIdempotent(callable))
      return void (await settle(house, held, call, unknownResult(), 'UNKNOWN'))
  } else if (call.status === 'AWAITING_APPROVAL') {
    await withdrawAbandoned(house, call)
    return forget(house, held)
  } else if (call.status === 'AWAITING_CLIENT') {
    const result = errorResult('client_timeout', 'The caller gave no answer to what the tool asked in time.')
    return void (await settle(house, held, call, result))
  } else if (call.status !== 'PROPOSED') return forget(house, held)
  await send(house, held, call, signal)
}

async function send(house: House, held: Held, call: ToolCall, signal: AbortSignal): Promise<void> {
  const callable = await proposedCallable(house, call)
  if (!callable) return void (await settle(house, held, call, goneResult()))
  const prepared = prepareCall(callable, call.arguments)
  if (!prepared.ok) {
    const result = errorResult('invalid_arguments', 'The arguments no longer fit the tool.')
    return void (await settle(house, held, call, result))
  }
  const sent = await markSent(house, held)
  if (!sent) return
  const result = await runTool(house, {
    projectId: call.projectId,
    callable,
    merged: prepared.merged,
    attachments: call.attachments,
    callId: call.id,
    requestedBy: call.requestedBy,
    // What may take effect is heard out also when this process stops: its outcome must be known.
    signal: isIdempotent(callable) ? signal : new AbortController().signal,
  })
  if (result.isError && signal.aborted && isIdempotent(callable)) return
  await settle(house, held, sent, result)
}

/** Voids the approval and asks anew, or settles the call when it cannot be asked any more. */
async function askAgain(house: House, held: Held, call: ToolCall, drift: Drift): Promise<void> {
  const { again, reason } = drift
  await atomically(house.db, async (tx) => {
    await lockOwners(tx, [ownerOf(call)])
    const changed = again
      ? sql`status = 'AWAITING_APPROVAL', approval_id = ${again.id}, tool_version = ${drift.tool!.version},
        definition_hash = ${drift.tool!.definitionHash}::text, wake_at = null`
      : sql`wake_at = wake_at`
    const rows = await query(
      tx,
      sql`with g as (update tool_calls set ${changed} where id = ${held.id} and epoch = ${held.epoch} and status = 'APPROVED'
          returning null::text as id, project_id, agent_id, thread_id),
        v as (${voidApprovals([call.approvalId!], reason)})
        ${again ? sql`, n as (${insertApprovals([again])})` : sql``} select 1 from g`,
    )
    if (rows.length === 0) throw new LeaseLostError(held.id)
    await appendProjectEvents(tx, call.projectId, [
      voided(call, reason),
      ...(again ? [requested(again)] : []),
    ])
  })
  ringNews(house, call.projectId)
  if (!again) await settle(house, held, call, driftResult(reason))
}

/** Nobody has to look at this row: a settled call, or one that its approval will wake. */
async function forget(house: House, held: Held): Promise<void> {
  await query(
    house.db,
    sql`update tool_calls set wake_at = null where id = ${held.id} and epoch = ${held.epoch}
      and status not in ('PROPOSED', 'APPROVED', 'EXECUTING', 'AWAITING_CLIENT')`,
  )
}
