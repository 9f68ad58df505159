/**
 * The row that owns a tool call and its approval: a generation, or the call itself outside any. Whoever changes them locks it
 * before everything else, so that decisions, deadlines and the worker follow each other and never deadlock.
 */
import { sql, type SQL } from 'drizzle-orm'
import { query, type Database } from '../db/database.ts'
import { insertGenerationEvents, insertProjectEvents, type NewEvent } from '../events/log.ts'
import type { Hint } from '../events/pubsub.ts'
import { copiesForRoot, tellRoot } from './root.ts'
import type { WorkTable } from './work.ts'

export interface Owner {
  table: Exclude<WorkTable, 'upstreams'>
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

/**
 * Locks the rows in one order for everybody: generations from the bottom of their chains up, each root with its descendants
 * (its log gets copies of their events), then calls. Call it first in the transaction.
 */
export async function lockOwners(tx: Database, owners: readonly Owner[]): Promise<void> {
  const idsOf = (table: WorkTable) => [
    ...new Set(owners.filter((owner) => owner.table === table).map((owner) => owner.id)),
  ]
  const [generations, calls] = [idsOf('generations'), idsOf('tool_calls')]
  if (generations.length > 0)
    await query(
      tx,
      sql`select 1 from generations where id in ${generations}
          or id in (select root_id from generations where id in ${generations})
        order by depth desc, id for update`,
    )
  if (calls.length > 0)
    await query(tx, sql`select 1 from tool_calls where id in ${calls} order by id for update`)
}

/** What a statement tells an owner and does to it; `g` is one row `(id, seq, status)`, `id` null outside a generation. */
export interface Telling {
  owner: Owner
  /** `g as (…), e as (…)`, to stand in a `with`. */
  parts: SQL
  /** The `select …` that ends the statement: one row Told. */
  answer: SQL
}

/** What became of the owner, and of its root when that heard of it. */
export interface Told {
  seq: number | null
  status: string | null
  rootId: string | null
  rootSeq: number | null
}

/**
 * The part of a statement that appends the events to the owner's log and wakes it when it is parked: now, at an SQL
 * moment, or not at all with null. A generation that a worker holds keeps its lease. The root of a run within a run hears
 * of its questions in the same statement. A call outside any is its own owner: whoever changes its row sets its wake.
 * With `when`, a relation of at most one row, nothing is written and no row answered when that is empty. The owner and
 * its root must be locked.
 */
export function telling(
  owner: Owner,
  events: NewEvent[],
  wake: 'now' | SQL | null,
  when: SQL | null = null,
): Telling {
  const only = when ? sql`exists (select 1 from ${when})` : sql`true`
  if (owner.table === 'tool_calls')
    return {
      owner,
      parts: sql`g as (select null::text as id, null::int as seq,
          null::text as status where ${only}),
        e as (${insertProjectEvents(owner.projectId, events, sql`g`)})`,
      answer: sql`select seq, status, null::text as "rootId", null::int as "rootSeq" from g`,
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
        where id = ${owner.id} and ${only} returning id, project_id, root_id, last_seq, last_seq as seq, status),
      e as (${insertGenerationEvents(events)}), ${tellRoot(copiesForRoot(events, owner.id))}`,
    answer: sql`select g.seq, g.status, r.id as "rootId", r.last_seq as "rootSeq" from g left join r on true`,
  }
}

/** What to ring once the telling is committed, from the row of its `g`. */
export function hintsOf({ owner }: Pick<Telling, 'owner'>, told: Told): Hint[] {
  const { table, id, projectId } = owner
  if (table === 'tool_calls')
    return [
      { kind: 'news', projectId, generationId: null, seq: null },
      { kind: 'work', table },
    ]
  return [
    { kind: 'news', projectId, generationId: id, seq: told.seq },
    told.status === 'RUNNING' ? { kind: 'signal', name: 'recheck', id } : { kind: 'work', table },
    ...(told.rootId ? [newsOf(told.rootId, projectId, told.rootSeq)] : []),
  ]
}

function newsOf(generationId: string, projectId: string, seq: number | null): Hint {
  return { kind: 'news', projectId, generationId, seq }
}

/** A telling as a statement of its own. Answers what to ring after the commit. */
export async function tellOwner(
  tx: Database,
  owner: Owner,
  events: NewEvent[],
  wake: 'now' | SQL | null,
): Promise<Hint[]> {
  const told = telling(owner, events, wake)
  const rows = await query<Told>(tx, sql`with ${told.parts} ${told.answer}`)
  return hintsOf(told, rows[0]!)
}
