/**
 * The row that a question belongs to: a generation, or a tool call outside any. Whoever answers locks it before
 * everything else, so that answers, deadlines and the worker follow each other and never deadlock.
 */
import { sql, type SQL } from 'drizzle-orm'
import { query, type Database } from '../db/database.ts'
import { appendProjectEvents, insertGenerationEvents, type NewEvent } from '../events/log.ts'
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

/**
 * Appends the events to the owner's log and wakes it when it is parked: now, at an SQL moment, or not at all with null.
 * One that a worker holds keeps its lease; the hints tell that worker to look. The owner must be locked. Answers
 * what to ring after the commit.
 */
export async function tellOwner(
  tx: Database,
  owner: Owner,
  events: NewEvent[],
  wake: 'now' | SQL | null,
): Promise<Hint[]> {
  const { table, id, projectId } = owner
  if (table === 'tool_calls') {
    await appendProjectEvents(tx, projectId, events)
    if (wake === 'now') await query(tx, sql`update tool_calls set wake_at = now() where id = ${id}`)
    return [
      { kind: 'news', projectId, generationId: null, seq: null },
      { kind: 'work', table },
    ]
  }
  const parked = sql`status = 'WAITING'`
  const woken =
    wake === 'now'
      ? sql`, wake_at = case when ${parked} then now() else wake_at end,
          status = case when ${parked} then 'QUEUED' else status end`
      : wake
        ? sql`, wake_at = case when ${parked} then ${wake} else wake_at end`
        : sql``
  const rows = await query<{ seq: number; status: string }>(
    tx,
    sql`with g as (update generations set last_seq = last_seq + ${events.length}::int ${woken}
        where id = ${id} returning id, project_id, last_seq, status),
      e as (${insertGenerationEvents(events)})
      select last_seq as seq, status from g`,
  )
  const { seq, status } = rows[0]!
  return [
    { kind: 'news', projectId, generationId: id, seq },
    status === 'RUNNING' ? { kind: 'signal', name: 'look', id } : { kind: 'work', table },
  ]
}
