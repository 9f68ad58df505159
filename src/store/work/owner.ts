/**
 * The row that a question belongs to: a generation, or a tool call outside any. Whoever answers locks it before
 * everything else, so that answers, deadlines and the worker follow each other and never deadlock.
 */
import { sql, type SQL } from 'drizzle-orm'
import { query, type Database } from '../db/database.ts'
import { insertGenerationEvents, insertProjectEvents, type NewEvent } from '../events/log.ts'
import type { Hint } from '../events/bell.ts'
import type { WorkTable } from './work.ts'

export interface Owner {
  table: WorkTable
  id: string
  projectId: string
}

/** The owner of a tool call. */
export function ownerOf(call: { id: string; generationId: string | null; projectId: string }): Owner {
  const { generationId, projectId } = call
  return generationId === null
    ? { table: 'tool_calls', id: call.id, projectId }
    : { table: 'generations', id: generationId, projectId }
}

/** Locks the rows in one order for everybody. Call it first in the transaction. */
export async function lockOwners(tx: Database, owners: readonly Owner[]): Promise<void> {
  for (const table of ['generations', 'tool_calls'] as const) {
    const ids = [...new Set(owners.filter((owner) => owner.table === table).map((owner) => owner.id))]
    if (ids.length > 0)
      await query(tx, sql`select 1 from ${sql.raw(table)} where id in ${ids} order by id for update`)
  }
}

/** What a statement tells an owner and does to it; `g` is one row `(id, seq, status)`, `id` null outside a generation. */
export interface Telling {
  owner: Owner
  /** `g as (…), e as (…)`, to stand in a `with`. */
  parts: SQL
}

/**
 * The part of a statement that appends the events to the owner's log and wakes it when it is parked: now, at an SQL
 * moment, or not at all with null. A generation that a worker holds keeps its lease. A call outside any is its own
 * owner: whoever changes its row sets its wake. The owner must be locked.
 */
export function telling(owner: Owner, events: NewEvent[], wake: 'now' | SQL | null): Telling {
  if (owner.table === 'tool_calls')
    return {
      owner,
      parts: sql`g as (select null::text as id, null::int as seq, null::text as status),
        e as (${insertProjectEvents(owner.projectId, events)})`,
    }
  const parked = sql`status = 'WAITING'`
  const woken =
    wake === 'now'
      ? sql`, wake_at = case when ${parked} then now() else wake_at end,
          status = case when ${parked} then 'QUEUED' else status end`
      : wake
        ? sql`, wake_at = case when ${parked} then ${wake} else wake_at end`
        : sql``
  return {
    owner,
    parts: sql`g as (update generations set last_seq = last_seq + ${events.length}::int ${woken}
        where id = ${owner.id} returning id, project_id, last_seq, last_seq as seq, status),
      e as (${insertGenerationEvents(events)})`,
  }
}

/** What to ring once the telling is committed, from the row of its `g`. */
export function hintsOf({ owner }: Telling, told: { seq: number | null; status: string | null }): Hint[] {
  const { table, id, projectId } = owner
  if (table === 'tool_calls')
    return [
      { kind: 'news', projectId, generationId: null, seq: null },
      { kind: 'work', table },
    ]
  return [
    { kind: 'news', projectId, generationId: id, seq: told.seq },
    told.status === 'RUNNING' ? { kind: 'signal', name: 'look', id } : { kind: 'work', table },
  ]
}

/** A telling as a statement of its own. Answers what to ring after the commit. */
export async function tellOwner(
  tx: Database,
  owner: Owner,
  events: NewEvent[],
  wake: 'now' | SQL | null,
): Promise<Hint[]> {
  const told = telling(owner, events, wake)
  const rows = await query<{ seq: number | null; status: string | null }>(
    tx,
    sql`with ${told.parts} select seq, status from g`,
  )
  return hintsOf(told, rows[0]!)
}
