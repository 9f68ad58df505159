/**
 * Rows that need a worker: claim, lease and fence. A work row has `wake_at` (when a worker must claim it) and `epoch`
 * (its fencing token: who may write it); the table is its own queue and timer. Only the database's clock counts.
 */
import { randomInt } from 'node:crypto'
import { nowPlus, query, type Database, jsonb } from '../db/database.ts'
import { sql, type SQL } from '../db/sql.ts'
import type { WorkTable } from '../db/tables/columns.ts'
import { rowsOf } from '../db/rows.ts'

/** A row that this process works on. Every write checks `epoch`; when it differs, another worker has the row. */
export interface HeldRow {
  id: string
  epoch: number
}

/** A claimed row and its project. */
export interface ClaimedRow extends HeldRow {
  projectId: string
}

/** Another worker has the row: the work must stop and write nothing more. */
export class LeaseLostError extends Error {
  constructor(id: string) {
    super(`Another worker has taken ${id}.`)
    this.name = 'LeaseLostError'
  }
}

/**
 * Claims at most `limit` due rows of projects that are not crowded, oldest first, each for `leaseMs` milliseconds. Any
 * number of processes may claim at once: a row goes to one of them. Raises the epoch, so that writes of an earlier
 * holder fail.
 */
export function claim<Row extends ClaimedRow = ClaimedRow>(
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
    sql`with due as (
        select ${columns}
        from ${t}
        where wake_at <= now() ${others}
        order by wake_at
        limit ${limit}
        for update skip locked
      ),
      g as (
        update ${t} as t set
          epoch = t.epoch + 1,
          wake_at = ${nowPlus(leaseMs)}
          ${also.set ? sql`, ${also.set}` : sql``}
        from due
        where t.id = due.id
        returning t.*, due.status as was
      )
      ${also.after ? sql`, done as (${also.after})` : sql``}
      select id, epoch, project_id as "projectId", was ${also.select ? sql`, ${also.select}` : sql``}
      from g`,
  )
}

export interface ClaimLimits {
  limit: number
  /** Rows that are not claimed: this process holds them, although their lease may have ended. */
  except: readonly string[]
  /** Projects whose rows are not claimed this time. */
  crowded?: readonly string[]
}

/** More parts of the statement of a claim. `due` has the rows before the update, `g` after it. */
export interface ClaimAlso {
  /** Columns of `due` beside id and status. */
  keep?: string[]
  /** Assignments to `t`, which may read `due`. */
  set?: SQL
  /** A statement over `g`, which has all columns of the table, and the previous status as `was`. */
  after?: SQL
  /** More columns of the result. */
  select?: SQL
}

/** The result of a heartbeat: rows whose lease was renewed, and held rows that another transaction has locked. */
export interface Beat {
  renewed: Set<string>
  locked: Set<string>
}

/**
 * Renews the leases of all held rows in one statement. It never waits: the lease of a locked row is not renewed. A row
 * that another worker has taken is in neither set.
 */
export async function heartbeat(
  db: Database,
  table: WorkTable,
  leaseMs: number,
  held: HeldRow[],
): Promise<Beat> {
  if (held.length === 0) return { renewed: new Set(), locked: new Set() }
  const t = sql.raw(table)
  const rows = await query<{ id: string; renewed: boolean }>(
    db,
    sql`with h as (select * from ${heldRows(held)}),
      mine as (
        select t.id
        from ${t} as t
        join h on t.id = h.id and t.epoch = h.epoch
        for update of t skip locked
      ),
      done as (
        update ${t} as t set wake_at = ${nowPlus(leaseMs)}
        from mine
        where t.id = mine.id
        returning t.id
      )
      select t.id, t.id in (select id from done) as renewed
      from ${t} as t
      join h on t.id = h.id and t.epoch = h.epoch`,
  )
  const idsOf = (renewed: boolean) =>
    new Set(rows.filter((row) => row.renewed === renewed).map((row) => row.id))
  return { renewed: idsOf(true), locked: idsOf(false) }
}

/**
 * Raises the epoch of a row that no other worker can have claimed, and renews its lease. `lostResponses`: how often
 * this was sent without a response since the epoch was known. Returns the new epoch; null when another worker or no
 * worker has the row.
 */
export async function refence(
  db: Database,
  table: WorkTable,
  leaseMs: number,
  { id, epoch }: HeldRow,
  lostResponses: number,
): Promise<number | null> {
  const rows = await query<{ epoch: number }>(
    db,
    sql`update ${sql.raw(table)} set
        epoch = epoch + 1,
        wake_at = ${nowPlus(leaseMs)}
      where id = ${id}
        and epoch between ${epoch}::int and ${epoch + lostResponses}::int
        and wake_at is not null
      returning epoch`,
  )
  return rows[0]?.epoch ?? null
}

/**
 * Part of the statement that gives a held row back and sets when it is due: a heartbeat that is still on its way would take
 * that time for its own lease, unless the row has another epoch by then.
 */
export const releaseEpoch = sql`epoch = epoch + 1`

/**
 * The epoch of a claim by the statement that makes the row due, where the row had the epoch `seen`. No other claim has it, because
 * others raise the epoch by one: whoever does not learn whether the statement was written may release the row under it.
 * The column has room for 32,000 such claims; a run has a few for each of its steps, which are a hundred at most.
 */
export const ownEpoch = (seen: number): number => seen + randomInt(2, 2 ** 16)

/**
 * Part of the statement that makes a row due now, also while it is held: the row cannot tell that from a lease that has run
 * out. Under another epoch its holder neither renews the lease nor gives the row back: it is claimed, and read again.
 */
export const madeDue = sql`wake_at = now(), ${releaseEpoch}`

/** Makes rows due at once, for a process that stops: the next worker that polls claims them. */
export async function release(db: Database, table: WorkTable, held: HeldRow[]): Promise<void> {
  if (held.length === 0) return
  await query(
    db,
    sql`with mine as (${lockHeld(table, held)})
      update ${sql.raw(table)} as t set ${madeDue}
      from mine
      where t.id = mine.id`,
  )
}

/** How long a row waits whose work the database has refused, in milliseconds. */
const refusedMs = 5 * 60_000

/** Gives a held row back for some minutes, for work that would fail in the same way again. */
export async function postpone(db: Database, table: WorkTable, { id, epoch }: HeldRow): Promise<void> {
  await query(
    db,
    sql`update ${sql.raw(table)} set wake_at = ${nowPlus(refusedMs)}, ${releaseEpoch}
      where id = ${id} and epoch = ${epoch} and wake_at is not null`,
  )
}

/** Locks the rows that are still held, in the order of lockOwners. */
function lockHeld(table: WorkTable, held: HeldRow[]): SQL {
  const order = table === 'generations' ? sql`t.depth desc, t.id` : sql`t.id`
  return sql`select t.id
    from ${sql.raw(table)} as t
    join ${heldRows(held)} on t.id = h.id and t.epoch = h.epoch
    order by ${order}
    for update of t`
}

/** Held rows as the relation `h(id, epoch)`. */
export function heldRows(held: readonly HeldRow[]): SQL {
  const rows = held.map(({ id, epoch }) => ({ id, epoch }))
  return rowsOf(jsonb(rows), rows.length, 'h(id text, epoch int)')
}
