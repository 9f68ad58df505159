/**
 * What a commit of a child run writes in the rows of its parent and root, in the same transaction. Every writer locks
 * from the bottom of the chain up (the run, its parent, the root), so no two commits deadlock.
 */
import type { ToolResult } from '../../../core/content.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { Hint } from '../../../store/pubsub/pubsub.ts'
import { lockOwners, type Owner, type ParentLink } from '../../../store/work/owner.ts'
import { insertEntries } from '../../audit/index.ts'
import {
  childEnded,
  hintsOf,
  insertRootCopies,
  ownerUpdate,
  type RootCopy,
  type UpdatedOwner,
} from '../../events/index.ts'
import { callSettled, executedEntry, inGeneration, settleCalls } from '../../tool-calls/index.ts'

/** How a run ended, for the call that waits for it. */
export interface RunEnd {
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'EXPIRED'
  result: ToolResult
}

/** What a commit writes in the rows of its parent and root. */
export interface News {
  /** Copies of the run's events for the root's log. */
  copies: RootCopy[]
  /** Set with the last commit of the run: how it ended. */
  ends: RunEnd | null
}

/**
 * Appends the copies to the root's log. If the run has ended, settles its parent's call with the final answer, and
 * wakes the parent unless it waits for other calls. Call it once, in the transaction of the run's own commit and
 * after it. Returns the hints to publish. A parent or root that has ended is left unchanged.
 */
export async function notifyParent(
  tx: Database,
  runId: string,
  parent: ParentLink,
  { copies, ends }: News,
): Promise<Hint[]> {
  const { projectId, parentId, rootId } = parent
  await lockOwners(tx, [{ table: 'generations', id: ends ? parentId : rootId, projectId }])
  const seq = copies.length > 0 ? await appendToRoot(tx, rootId, copies) : null
  const hints: Hint[] = seq === null ? [] : [{ kind: 'news', projectId, generationId: rootId, seq }]
  return ends ? [...hints, ...(await settleCall(tx, runId, parent, ends))] : hints
}

async function appendToRoot(tx: Database, rootId: string, copies: RootCopy[]): Promise<number | null> {
  const rows = await query<{ seq: number }>(
    tx,
    sql`with g as (select ${rootId}::text as root_id),
      ${insertRootCopies(copies)}
      select last_seq as seq from r`,
  )
  return rows[0]?.seq ?? null
}

interface Waiting {
  runtimeName: string
  stepIndex: number
  toolId: string
  attempt: number
  requestedBy: string
  actsFor: string | null
  /** The parent waits for nothing else, or has another call to start now that a child run has ended. */
  wakes: boolean
}

/**
 * The parent's call, if it still waits. The parent must be locked, so that what is read here cannot change meanwhile.
 */
async function readCall(tx: Database, { parentId, callId }: ParentLink): Promise<Waiting | null> {
  const others = sql`from tool_calls as o
    where o.generation_id = p.id and o.id <> c.id and o.settled_at is null`
  const rows = await query<Waiting>(
    tx,
    sql`select
        c.runtime_name as "runtimeName",
        c.step_index as "stepIndex",
        c.tool_id as "toolId",
        c.attempt,
        c.requested_by as "requestedBy",
        c.requester->>'actsFor' as "actsFor",
        p.cancel_requested_at is not null
          or p.deadline_at <= now()
          or exists (select 1 ${others} and (o.status = 'PROPOSED' or o.deadline_at <= now()))
          or not exists (
            select 1 ${others} and o.status in ('EXECUTING', 'AWAITING_CLIENT', 'AWAITING_APPROVAL')
          ) as wakes
      from tool_calls as c
      join generations as p on p.id = c.generation_id
      where c.id = ${callId}
        and p.id = ${parentId}
        and p.finished_at is null
        and c.settled_at is null`,
  )
  return rows[0] ?? null
}

async function settleCall(
  tx: Database,
  id: string,
  parent: ParentLink,
  { status: endedAs, result }: RunEnd,
): Promise<Hint[]> {
  const call = await readCall(tx, parent)
  if (!call) return []
  const { projectId, parentId, callId } = parent
  const owner: Owner = { table: 'generations', id: parentId, projectId }
  const status = result.isError ? 'ERRORED' : 'SUCCEEDED'
  const events = [
    callSettled({ ...call, id: callId }, status),
    childEnded({ childId: id, toolCallId: callId, name: call.runtimeName, status: endedAs }),
  ]
  const update = ownerUpdate(owner, events, call.wakes ? 'now' : null)
  const executed = { ...call, id: callId, projectId }
  const rows = await query<UpdatedOwner>(
    tx,
    sql`with ${update.parts},
      c as (${settleCalls('settle', [{ id: callId, status, result }], inGeneration)}),
      l as (${insertEntries([executedEntry(executed, status, { childId: id })])})
      ${update.result}`,
  )
  return hintsOf(update, rows[0]!)
}
