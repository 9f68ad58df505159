/**
 * Rows that want a worker: claim, lease and fence. A work row has `wake_at` (when somebody must look at it) and
 * `epoch` (who may write it); the table is its own queue and timer. Only the database's clock counts.
 */
import { sql, type SQL } from 'drizzle-orm'
import { nowPlus, query, type Database, jsonb } from '../db/database.ts'

/** Tables with the columns id, wake_at and epoch. */
export type WorkTable = 'generations' | 'tool_calls' | 'upstreams'

/** A row that this process works on. Every write proves `epoch`; a failed proof means that another worker has it. */
export interface Held {
  id: string
  epoch: number
}

/** Another worker owns the row now: stop, write nothing more. */
export class LeaseLostError extends Error {
  constructor(id: string) {
    super(`Another worker has taken ${id}.`)
    this.name = 'LeaseLostError'
  }
}

/**
 * Takes at most `limit` due rows, oldest first, each for `leaseMs`. Safe from any number of processes at once: a row
 * goes to one of them. The epoch is raised, so the writes of an earlier holder fail from now on.
 */
export function claim<Row extends Held = Held>(
  db: Database,
  table: WorkTable,
  leaseMs: number,
  limit: number,
  also: ClaimAlso = {},
): Promise<Row[]> {
  const t = sql.raw(table)
  const columns = sql.raw(['id', 'status', ...(also.keep ?? [])].join(', '))
  return query<Row>(
    db,
    sql`with due as (select ${columns} from ${t} where wake_at <= now()
        order by wake_at limit ${limit} for update skip locked),
      g as (update ${t} as t set epoch = t.epoch + 1, wake_at = ${nowPlus(leaseMs)}
        ${also.set ? sql`, ${also.set}` : sql``} from due where t.id = due.id
        returning t.*, due.status as was)
      ${also.after ? sql`, done as (${also.after})` : sql``}
      select id, epoch, project_id as "projectId", was ${also.select ? sql`, ${also.select}` : sql``} from g`,
  )
}

/** What a claim does in the same statement. `due` holds the rows as they were, `g` as they are now. */
export interface ClaimAlso {
  /** Columns of `due` beside id and status. */
  keep?: string[]
  /** Assignments to `t`, which may read `due`. */
  set?: SQL
  /** A statement over `g`, which has all columns of the table and the earlier status as `was`. */
  after?: SQL
  /** More columns of the answer. */
  select?: SQL
}

/**
 * Renews the leases of all held rows in one statement and answers the ids that are still ours. A row that was parked
 * or taken has another epoch and is never touched.
 */
export async function heartbeat(
  db: Database,
  table: WorkTable,
  leaseMs: number,
  held: Held[],
): Promise<Set<string>> {
  if (held.length === 0) return new Set()
  const rows = await query<{ id: string }>(
    db,
    sql`with mine as (${lockHeld(table, held)})
      update ${sql.raw(table)} as t set wake_at = ${nowPlus(leaseMs)} from mine where t.id = mine.id returning t.id`,
  )
  return new Set(rows.map((row) => row.id))
}

/** Gives rows back at once, for a process that stops: whoever looks next continues them. */
export async function release(db: Database, table: WorkTable, held: Held[]): Promise<void> {
  if (held.length === 0) return
  await query(
    db,
    sql`with mine as (${lockHeld(table, held)})
      update ${sql.raw(table)} as t set wake_at = now(), epoch = t.epoch + 1 from mine where t.id = mine.id`,
  )
}

/** Locks what is still ours in the order in which everybody locks several rows: see lockOwners. */
function lockHeld(table: WorkTable, held: Held[]): SQL {
  const own = jsonb(held.map(({ id, epoch }) => ({ id, epoch })))
  const order = table === 'generations' ? sql`t.depth desc, t.id` : sql`t.id`
  return sql`select t.id from ${sql.raw(table)} as t
    join jsonb_to_recordset(${own}) as h(id text, epoch int) on t.id = h.id and t.epoch = h.epoch
    order by ${order} for update of t`
}
