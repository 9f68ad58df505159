/** What a worker does with the row of a call: an approved one runs, one that was left behind is repeated or given up. */
import { sql } from 'drizzle-orm'
import { errorResult } from '../../core/content.ts'
import { atomically, jsonb, nowPlus, query } from '../../store/db/database.ts'
import { appendProjectEvents } from '../../store/events/log.ts'
import { lockOwners, ownerOf } from '../../store/work/owner.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import { whenAnswered } from '../../store/work/read-back.ts'
import { LeaseLostError, release, type Held } from '../../store/work/work.ts'
import type { Reins } from '../../store/work/worker.ts'
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
  givenUpResult,
  goneResult,
  isGivenUp,
  isIdempotent,
  loadCall,
  mayStillRun,
  notValidResult,
  prepareCall,
  proposedCallable,
  runTool,
  unknownResult,
  WithheldError,
  type ToolCall,
} from '../tools/index.ts'
import { notSent } from './late.ts'
import { ringNews, settle } from './row.ts'
import { markSentSurely, settleSurely } from './surely.ts'
import { withdrawAbandoned } from './withdraw.ts'

/**
 * Works on a claimed call. APPROVED runs, after a look whether it is still what was agreed to; PROPOSED is one that a
 * person lets run again. EXECUTING was left behind by a process that went away: an idempotent one runs again under the
 * same key, a few times, any other becomes UNKNOWN and is never sent twice. One that waits for a person is due when its caller hung
 * up: it is withdrawn.
 */
export async function workOnCall(house: House, held: Held, reins: Reins): Promise<void> {
  const call = await whenAnswered(() => loadCall(house.db, held.id), house.limits.leaseMs, true)
  // A process that stops begins nothing new.
  if (reins.isDraining() && startable.has(call.status)) return release(house.leaseDb, 'tool_calls', [held])
  if (call.status === 'APPROVED') {
    const drift = await driftOf(house, call, call.agentGate ? [call.agentGate] : [])
    if (drift) return askAgain(house, held, call, drift)
  } else if (call.status === 'EXECUTING') {
    const callable = await proposedCallable(house, call)
    if (!callable || !isIdempotent(callable)) return settleLeftBehind(house, held, call)
    if (isGivenUp(call)) return void (await settle(house, held, call, givenUpResult()))
  } else if (call.status === 'AWAITING_APPROVAL') {
    await withdrawAbandoned(house, call)
    return forget(house, held)
  } else if (call.status === 'AWAITING_CLIENT') {
    const result = errorResult('client_timeout', 'The caller gave no answer to what the tool asked in time.')
    return void (await settle(house, held, call, result))
  } else if (call.status !== 'PROPOSED') return forget(house, held)
  await send(house, held, call, reins)
}

/** Settles a call as UNKNOWN whose outcome nobody heard, if it is still ours. */
export async function settleLeftBehind(
  house: Pick<House, 'db' | 'leaseDb' | 'bell'>,
  held: Held,
  call: ToolCall,
): Promise<void> {
  await settle(house, held, call, unknownResult(), 'UNKNOWN')
}

const startable = new Set<ToolCall['status']>(['PROPOSED', 'APPROVED', 'EXECUTING'])

async function send(house: House, held: Held, call: ToolCall, { signal, lease }: Reins): Promise<void> {
  const callable = await proposedCallable(house, call)
  if (!callable) return void (await settle(house, held, call, goneResult()))
  const prepared = prepareCall(callable, call.arguments)
  if (!prepared.ok) {
    const result = errorResult('invalid_arguments', 'The arguments no longer fit the tool.')
    return void (await settle(house, held, call, result))
  }
  if (!(await mayStillRun(house, call))) return void (await settle(house, held, call, notValidResult()))
  const waitMs =
    call.status === 'EXECUTING' ? 0 : await house.rates.takeUse(call.projectId, 'TOOL', call.toolId ?? '')
  if (waitMs > 0) return holdBack(house, held, waitMs)
  const sent = await markSentSurely(house, lease, call)
  if (!sent) return
  const ran = await runTool(house, {
    projectId: call.projectId,
    callable,
    merged: prepared.merged,
    attachments: call.attachments,
    callId: call.id,
    requestedBy: call.requestedBy,
    requester: call.requester,
    // What may take effect is heard out also when this process stops: its outcome must be known.
    signal: isIdempotent(callable) ? signal : new AbortController().signal,
    mayStart: lease.isSure,
  }).catch((error: unknown) => {
    if (error instanceof WithheldError || isStorageError(error)) return notSent
    throw error
  })
  if (ran.result.isError && signal.aborted && isIdempotent(callable)) return
  await settleSurely(house, held, sent, ran)
}

/** Voids the approval and asks anew, or settles the call when it cannot be asked any more. */
async function askAgain(house: House, held: Held, call: ToolCall, drift: Drift): Promise<void> {
  const { again, reason, masks } = drift
  const hidden = masks ? sql`, masked = ${jsonb(masks.call)}` : sql``
  await atomically(house.db, async (tx) => {
    await lockOwners(tx, [ownerOf(call)])
    const changed = again
      ? sql`status = 'AWAITING_APPROVAL', approval_id = ${again.id}, tool_version = ${drift.tool!.version},
        definition_hash = ${drift.tool!.definitionHash}::text, wake_at = null`
      : sql`wake_at = wake_at`
    const rows = await query(
      tx,
      sql`with g as (update tool_calls set ${changed} ${hidden} where id = ${held.id} and epoch = ${held.epoch} and status = 'APPROVED'
          returning null::text as id, project_id, agent_id, thread_id),
        v as (${voidApprovals([call.approvalId!], reason, { masks: masks?.approval ?? null })})
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

/** A limit of the tool holds the call back: it is given back, and due when a token is. */
async function holdBack(house: House, held: Held, waitMs: number): Promise<void> {
  await query(
    house.leaseDb,
    sql`update tool_calls set wake_at = ${nowPlus(Math.ceil(waitMs))}, epoch = epoch + 1
      where id = ${held.id} and epoch = ${held.epoch} and status in ('PROPOSED', 'APPROVED')`,
  )
}

/** Nobody has to look at this row: a settled call, or one that its approval will wake. */
async function forget(house: House, held: Held): Promise<void> {
  await query(
    house.db,
    sql`update tool_calls set wake_at = null where id = ${held.id} and epoch = ${held.epoch}
      and status not in ('PROPOSED', 'APPROVED', 'EXECUTING', 'AWAITING_CLIENT')`,
  )
}
