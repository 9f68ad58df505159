/** What a worker does with the row of a call: an approved one runs, one that was left behind is repeated or given up. */
import { sql } from 'drizzle-orm'
import { errorResult } from '../../core/content.ts'
import { atomically, jsonb, nowPlus, query } from '../../store/db/database.ts'
import { appendProjectEvents } from '../../store/events/log.ts'
import { lockOwners, ownerOf } from '../../store/work/owner.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import { whenAnswered } from '../../store/work/read-back.ts'
import { LeaseLostError, release, type Held } from '../../store/work/work.ts'
import type { WorkControl } from '../../store/work/worker.ts'
import type { Services } from '../access/index.ts'
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
import { publishNews, settle } from './row.ts'
import { markSentSurely, settleSurely } from './surely.ts'
import { withdrawAbandoned } from './withdraw.ts'

/**
 * Works on a claimed call. APPROVED runs, after a look whether it is still what was agreed to; PROPOSED is one that a
 * person lets run again. EXECUTING was left behind by a process that went away: an idempotent one runs again under the
 * same key, a few times, any other becomes UNKNOWN and is never sent twice. One that waits for a person is due when its caller hung
 * up: it is withdrawn.
 */
export async function workOnCall(services: Services, held: Held, control: WorkControl): Promise<void> {
  const call = await whenAnswered(() => loadCall(services.db, held.id), services.limits.leaseMs, true)
  // A process that stops begins nothing new.
  if (control.isDraining() && startable.has(call.status))
    return release(services.leaseDb, 'tool_calls', [held])
  if (call.status === 'APPROVED') {
    const drift = await driftOf(services, call, call.agentGate ? [call.agentGate] : [])
    if (drift) return askAgain(services, held, call, drift)
  } else if (call.status === 'EXECUTING') {
    const callable = await proposedCallable(services, call)
    if (!callable || !isIdempotent(callable)) return settleLeftBehind(services, held, call)
    if (isGivenUp(call)) return void (await settle(services, held, call, givenUpResult()))
  } else if (call.status === 'AWAITING_APPROVAL') {
    await withdrawAbandoned(services, call)
    return forget(services, held)
  } else if (call.status === 'AWAITING_CLIENT') {
    const result = errorResult('client_timeout', 'The caller gave no answer to what the tool asked in time.')
    return void (await settle(services, held, call, result))
  } else if (call.status !== 'PROPOSED') return forget(services, held)
  await send(services, held, call, control)
}

/** Settles a call as UNKNOWN whose outcome nobody heard, if it is still ours. */
export async function settleLeftBehind(
  services: Pick<Services, 'db' | 'leaseDb' | 'pubsub'>,
  held: Held,
  call: ToolCall,
): Promise<void> {
  await settle(services, held, call, unknownResult(), 'UNKNOWN')
}

const startable = new Set<ToolCall['status']>(['PROPOSED', 'APPROVED', 'EXECUTING'])

async function send(
  services: Services,
  held: Held,
  call: ToolCall,
  { signal, lease }: WorkControl,
): Promise<void> {
  const callable = await proposedCallable(services, call)
  if (!callable) return void (await settle(services, held, call, goneResult()))
  const prepared = prepareCall(callable, call.arguments)
  if (!prepared.ok) {
    const result = errorResult('invalid_arguments', 'The arguments no longer fit the tool.')
    return void (await settle(services, held, call, result))
  }
  if (!(await mayStillRun(services, call))) return void (await settle(services, held, call, notValidResult()))
  const waitMs =
    call.status === 'EXECUTING' ? 0 : await services.rates.takeUse(call.projectId, 'TOOL', call.toolId ?? '')
  if (waitMs > 0) return holdBack(services, held, waitMs)
  const sent = await markSentSurely(services, lease, call)
  if (!sent) return
  const ran = await runTool(services, {
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
  await settleSurely(services, held, sent, ran)
}

/** Voids the approval and asks anew, or settles the call when it cannot be asked any more. */
async function askAgain(services: Services, held: Held, call: ToolCall, drift: Drift): Promise<void> {
  const { again, reason, masks } = drift
  const hidden = masks ? sql`, masked = ${jsonb(masks.call)}` : sql``
  await atomically(services.db, async (tx) => {
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
  publishNews(services, call.projectId)
  if (!again) await settle(services, held, call, driftResult(reason))
}

/** A limit of the tool holds the call back: it is given back, and due when a token is. */
async function holdBack(services: Services, held: Held, waitMs: number): Promise<void> {
  await query(
    services.leaseDb,
    sql`update tool_calls set wake_at = ${nowPlus(Math.ceil(waitMs))}, epoch = epoch + 1
      where id = ${held.id} and epoch = ${held.epoch} and status in ('PROPOSED', 'APPROVED')`,
  )
}

/** Nobody has to look at this row: a settled call, or one that its approval will wake. */
async function forget(services: Services, held: Held): Promise<void> {
  await query(
    services.db,
    sql`update tool_calls set wake_at = null where id = ${held.id} and epoch = ${held.epoch}
      and status not in ('PROPOSED', 'APPROVED', 'EXECUTING', 'AWAITING_CLIENT')`,
  )
}
