/**
 * Writes the append-only log of events, each in the transaction of the change that it reports: alone, or with the row
 * of its owner, which it wakes.
 */
import type { JsonObject } from '../../core/json.ts'
import { query, type Database, jsonb, nowPlus } from '../db/database.ts'
import { sql, type SQL } from '../db/sql.ts'
import type { Hint } from '../pubsub/pubsub.ts'
import type { Owner } from '../work/owner.ts'

/** An event to be written. The names are declared in domain/events. */
export interface NewEvent {
  type: string
  data: JsonObject
  /** Whose the thing is that it tells of. Of an event of a generation, the row of that says it. */
  requestedBy?: string | null
}

/**
 * The feed's order for replicas of the release before, which still read by it. Ours is `position`, which a committed
 * event gets afterwards (numbering.ts).
 */
const shift = sql`(select commit_shift::bigint from installation)`
const commitOrder = sql`pg_current_xact_id()::text::bigint + ${shift}`

/**
 * The tail of a statement `with g as (update generations … returning id, project_id, requested_by, last_seq)`: inserts the
 * events of `g` with the numbers that the update took (`last_seq` has been raised by `events.length`). Nothing when `g` is
 * empty. `relation` is another name than `g`.
 */
export function insertGenerationEvents(events: readonly NewEvent[], relation: SQL = sql`g`): SQL {
  return sql`insert into events (project_id, generation_id, seq, type, data, requested_by, commit_order)
    select g.project_id, g.id, g.last_seq - ${events.length}::int + e.n, e.type, e.data, g.requested_by, ${commitOrder}
    from ${relation} as g, jsonb_to_recordset(${numbered(events)}) as e(n int, type text, data jsonb)
    order by g.id, e.n`
}

/** The tail of a statement: inserts the rows (project_id, generation_id, seq, type, data, requested_by), in their order. */
export function insertEvents(rows: SQL): SQL {
  return sql`insert into events (project_id, generation_id, seq, type, data, requested_by, commit_order)
    select f.project_id, f.generation_id, f.seq, f.type, f.data, f.requested_by, ${commitOrder}
    from (select r.*, row_number() over () as n from (${rows}) as r) as f
    order by f.generation_id, f.seq, f.n`
}

/** Appends events that belong to a project and to no generation. Call it inside the transaction of the change. */
export async function appendProjectEvents(
  db: Database,
  projectId: string,
  events: readonly NewEvent[],
): Promise<void> {
  await query(db, insertProjectEvents(projectId, events))
}

/** The same as a part of a larger statement. Nothing when `when`, a relation of at most one row, is empty. */
export function insertProjectEvents(
  projectId: string,
  events: readonly NewEvent[],
  when: SQL | null = null,
): SQL {
  return sql`insert into events (project_id, type, data, requested_by, commit_order)
    select ${projectId}::text, e.type, e.data, e.requested_by, ${commitOrder}
    from jsonb_to_recordset(${numbered(events)}) as e(n int, type text, data jsonb, requested_by text)
    where ${when ? sql`exists (select 1 from ${when})` : sql`true`}
    order by e.n`
}

function numbered(events: readonly NewEvent[]): SQL {
  return jsonb(
    events.map(({ type, data, requestedBy }, i) => ({
      n: i + 1,
      type,
      data,
      ...(requestedBy ? { requested_by: requestedBy } : {}),
    })),
  )
}

/**
 * An update of an owner, to be put into a statement. Its relation `g` is one row `(id, seq, status)`, `id` null outside
 * a generation.
 */
export interface OwnerUpdate {
  owner: Owner
  /** `g as (…), e as (…)`, for a `with`. */
  parts: SQL
  /** The `select …` that ends the statement: one row UpdatedOwner. */
  result: SQL
}

/** The state of the owner after the update, and of its root when that got copies. */
export interface UpdatedOwner {
  seq: number | null
  status: string | null
  rootId: string | null
  rootSeq: number | null
  /** Time of the transaction, in milliseconds since 1970. */
  now: number
}

/** A claim of the owner for a worker of this process. `epoch` and status of the owner must be proved by `when`. */
export interface OwnerClaim {
  /** Before the claim. */
  epoch: number
  leaseMs: number
}

export interface OwnerChange {
  events: readonly NewEvent[]
  /** Events that are copied to the log of the root of the generation. */
  copies: readonly NewEvent[]
  /**
   * When a WAITING owner is woken: now, at an SQL timestamp, or (null) not at all. A worker that holds it keeps its
   * lease.
   */
  wake: 'now' | SQL | null
  /** A relation of at most one row: when it is empty, nothing is written and no row is returned. */
  when: SQL | null
  /** Claims a WAITING generation instead of waking it. A call outside one is claimed by the statement of its row. */
  claim: OwnerClaim | null
}

/**
 * The update of an owner, which appends events to its log and wakes it. A call outside a generation is its own owner:
 * it has no root, and the statement that changes its row sets `wake_at`. The owner and its root must be locked.
 */
export function ownerUpdate(owner: Owner, { events, copies, wake, when, claim }: OwnerChange): OwnerUpdate {
  const only = when ? sql`exists (select 1 from ${when})` : sql`true`
  const ofOwner = (event: NewEvent) => ({ ...event, requestedBy: owner.requestedBy! })
  if (owner.table === 'tool_calls')
    return {
      owner,
      parts: sql`g as (
          select null::text as id, null::int as seq, null::text as status
          where ${only}
        ),
        e as (${insertProjectEvents(owner.projectId, events.map(ofOwner), sql`g`)})`,
      result: sql`select seq, status, null::text as "rootId", null::int as "rootSeq", ${nowMs} from g`,
    }
  return {
    owner,
    parts: sql`g as (
        update generations set last_seq = last_seq + ${events.length}::int ${claim ? claimed(claim) : wakeWhenWaiting(wake)}
        where id = ${owner.id} and ${only}
        returning id, project_id, root_id, requested_by, last_seq, last_seq as seq, status
      ),
      e as (${insertGenerationEvents(events)}), ${insertRootCopies(copies)}`,
    result: sql`select g.seq, g.status, r.id as "rootId", r.last_seq as "rootSeq", ${nowMs}
      from g
      left join r on true`,
  }
}

// Rounded as the columns of moments are.
const nowMs = sql`(extract(epoch from now()::timestamptz(3)) * 1000)::float8 as now`

function claimed({ leaseMs }: OwnerClaim): SQL {
  return sql`, status = 'RUNNING', epoch = epoch + 1, wake_at = ${nowPlus(leaseMs)}`
}

function wakeWhenWaiting(wake: 'now' | SQL | null): SQL {
  const waits = sql`status = 'WAITING'`
  if (wake === 'now')
    return sql`, wake_at = case when ${waits} then now() else wake_at end,
      status = case when ${waits} then 'QUEUED' else status end`
  return wake ? sql`, wake_at = case when ${waits} then ${wake} else wake_at end` : sql``
}

/**
 * Parts of a statement over the relation `g(root_id)`, one row: `r as (…), re as (…)` append the copies to the log of
 * its root. `r` is empty when `g` has no root, or one that has ended. The root must be locked after the row of `g`.
 */
export function insertRootCopies(copies: readonly NewEvent[]): SQL {
  return sql`r as (
      update generations as root set last_seq = root.last_seq + ${copies.length}::int
      from g
      where root.id = g.root_id and root.finished_at is null
      returning root.id, root.project_id, root.requested_by, root.last_seq
    ),
    re as (${insertGenerationEvents(copies, sql`r`)})`
}

/** Runs an update as a statement of its own. Returns the hints to publish after the commit. */
export async function runOwnerUpdate(tx: Database, update: OwnerUpdate): Promise<Hint[]> {
  const rows = await query<UpdatedOwner>(tx, sql`with ${update.parts} ${update.result}`)
  return hintsOf(update, rows[0]!)
}

/** The hints to publish once an update is committed. */
export function hintsOf({ owner }: Pick<OwnerUpdate, 'owner'>, updated: Omit<UpdatedOwner, 'now'>): Hint[] {
  const { table, id, projectId } = owner
  if (table === 'tool_calls')
    return [
      { kind: 'news', projectId, generationId: null, seq: null },
      { kind: 'work', table },
    ]
  return [
    { kind: 'news', projectId, generationId: id, seq: updated.seq },
    updated.status === 'RUNNING' ? { kind: 'signal', name: 'recheck', id } : { kind: 'work', table },
    ...(updated.rootId ? [newsOf(updated.rootId, projectId, updated.rootSeq)] : []),
  ]
}

function newsOf(generationId: string, projectId: string, seq: number | null): Hint {
  return { kind: 'news', projectId, generationId, seq }
}
