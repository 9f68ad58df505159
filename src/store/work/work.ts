/**
 * Rows that need a worker: claim, lease and fence. A work row has `wake_at` (when a worker must claim it) and `epoch` (its
 * fencing token: who may write it); the table is its own queue and timer. Only the database's clock counts.
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

/** A claimed row, and whose it is. */
export interface Claimed extends Held {
  projectId: string
}

/** Another worker owns the row now: stop, write nothing more. */
export class LeaseLostError extends Error {
  constructor(id: string) {
    super(`Another worker has taken ${id}.`)
    this.name = 'LeaseLostError'
  }
}

/**
 * Takes at most `limit` due rows of projects that are not crowded, oldest first, each for `leaseMs`. Safe from any number of processes at once: a row
 * goes to one of them. The epoch is raised, so the writes of an earlier holder fail from now on.
 */
export function claim<Row extends Claimed = Claimed>(
  db: Database,
  table: WorkTable,
  leaseMs: number,
  { limit, except, crowded = [] }: ClaimLimits,
  also: ClaimAlso = {},
): Promise<Row[]> {
  const t = sql.raw(table)
  const columns = sql.raw(['id', 'status', ...(also.keep ?? [])].join(', '))
  const others = sql.join([
    except.length > 0 ? sql`and not ${jsonb(except)} ? id` : sql``,
    crowded.length > 0 ? sql`and not ${jsonb(crowded)} ? project_id` : sql``,
  ])
  return query<Row>(
    db,
    sql`with due as (select ${columns} from ${t} where wake_at <= now() ${others}
        order by wake_at limit ${limit} for update skip locked),
      g as (update ${t} as t set epoch = t.epoch + 1, wake_at = ${nowPlus(leaseMs)}
        ${also.set ? sql`, ${also.set}` : sql``} from due where t.id = due.id
        returning t.*, due.status as was)
      ${also.after ? sql`, done as (${also.after})` : sql``}
      select id, epoch, project_id as "projectId", was ${also.select ? sql`, ${also.select}` : sql``} from g`,
  )
}

export interface ClaimLimits {
  limit: number
  /** Rows that are left alone: this process holds them, although their lease may be over. */
  except: readonly string[]
  /** Projects whose rows wait for another time. */
  crowded?: readonly string[]
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

/** What a heartbeat has found: rows whose lease runs anew, and rows that are ours and that somebody has locked now. */
export interface Beat {
  renewed: Set<string>
  locked: Set<string>
}

/**
 * Renews the leases of all held rows in one statement. It never waits: a row that somebody has locked keeps its lease as
 * it is, and is told apart from one that another worker has taken, which is in neither set.
 */
export async function heartbeat(
  db: Database,
  table: WorkTable,
  leaseMs: number,
  held: Held[],
): Promise<Beat> {
  if (held.length === 0) return { renewed: new Set(), locked: new Set() }
  const t = sql.raw(table)
  const rows = await query<{ id: string; renewed: boolean }>(
    db,
    sql`with h as (select * from ${heldRows(held)}),
      mine as (select t.id from ${t} as t join h on t.id = h.id and t.epoch = h.epoch for update of t skip locked),
      done as (update ${t} as t set wake_at = ${nowPlus(leaseMs)} from mine where t.id = mine.id returning t.id)
      select t.id, t.id in (select id from done) as renewed
      from ${t} as t join h on t.id = h.id and t.epoch = h.epoch`,
  )
  const idsOf = (renewed: boolean) =>
    new Set(rows.filter((row) => row.renewed === renewed).map((row) => row.id))
  return { renewed: idsOf(true), locked: idsOf(false) }
}

/**
 * Raises the epoch of a row that surely nobody else can have claimed, and renews its lease. `lostResponses`: how often this
 * was tried since the epoch was known, without a response. Returns the new epoch; null when the row is
 * another worker's, or nobody's.
 */
export async function refence(
  db: Database,
  table: WorkTable,
  leaseMs: number,
  { id, epoch }: Held,
  lostResponses: number,
): Promise<number | null> {
  const rows = await query<{ epoch: number }>(
    db,
    sql`update ${sql.raw(table)} set epoch = epoch + 1, wake_at = ${nowPlus(leaseMs)}
      where id = ${id} and epoch between ${epoch}::int and ${epoch + lostResponses}::int and wake_at is not null
      returning epoch`,
  )
  return rows[0]?.epoch ?? null
}

/** Gives rows back at once, for a process that stops: the next worker that polls continues them. */
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
  const order = table === 'generations' ? sql`t.depth desc, t.id` : sql`t.id`
  return sql`select t.id from ${sql.raw(table)} as t join ${heldRows(held)} on t.id = h.id and t.epoch = h.epoch
    order by ${order} for update of t`
}

function heldRows(held: Held[]): SQL {
  return sql`jsonb_to_recordset(${jsonb(held.map(({ id, epoch }) => ({ id, epoch })))}) as h(id text, epoch int)`
}
