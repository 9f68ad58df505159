/** The append-only truth: facts are written with the state they tell of, and read by position. */
import { sql, type SQL } from 'drizzle-orm'
import type { JsonObject } from '../../core/json.ts'
import { query, type Database, jsonb } from '../db/database.ts'
import { isAfter, type EventPlace, type Position } from './position.ts'

export interface NewEvent {
  type: string
  data: JsonObject
}

export interface EventRow extends EventPlace {
  type: string
  data: JsonObject
  at: Date
}

export interface EventPage {
  events: EventRow[]
  /** Everything up to here was looked at; continue after it. */
  end: Position
  /** The page was full: there may be more right now. */
  more: boolean
  /** No running transaction can still add an event before this place. */
  bound: Position
  /** Newer events exist whose order is not settled yet; look again in a few milliseconds. */
  unsettled: boolean
}

/**
 * The order of a project's feed. Transaction ids are taken before anything is visible, so a reader that stays below
 * the oldest running transaction can never be overtaken by a later commit with a smaller id. A bigserial cannot do
 * that: its number is taken at insert and seen at commit. See docs/decisions/0005.
 */
const shift = sql`(select commit_shift::bigint from installation)`
const commitOrder = sql`pg_current_xact_id()::text::bigint + ${shift}`

/**
 * The tail of a statement `with g as (update generations … returning id, project_id, last_seq)`: inserts the events of
 * `g` with the numbers that the update took (`last_seq` has been raised by `events.length`). Nothing when `g` is empty.
 * `relation` is another name than `g`.
 */
export function insertGenerationEvents(events: NewEvent[], relation: SQL = sql`g`): SQL {
  return sql`insert into events (project_id, generation_id, seq, type, data, commit_order)
    select g.project_id, g.id, g.last_seq - ${events.length}::int + e.n, e.type, e.data, ${commitOrder}
    from ${relation} as g, jsonb_to_recordset(${numbered(events)}) as e(n int, type text, data jsonb)`
}

/** The tail of a statement: inserts the rows (project_id, generation_id, seq, type, data) of `rows`, in their order. */
export function insertEvents(rows: SQL): SQL {
  return sql`insert into events (project_id, generation_id, seq, type, data, commit_order)
    select f.project_id, f.generation_id, f.seq, f.type, f.data, ${commitOrder} from (${rows}) as f`
}

/** Appends facts that belong to a project and to no generation. Call it inside the transaction of the change. */
export async function appendProjectEvents(
  db: Database,
  projectId: string,
  events: NewEvent[],
): Promise<void> {
  await query(db, insertProjectEvents(projectId, events))
}

/** The same as a part of a larger statement. */
export function insertProjectEvents(projectId: string, events: NewEvent[]): SQL {
  return sql`insert into events (project_id, type, data, commit_order)
    select ${projectId}::text, e.type, e.data, ${commitOrder}
    from jsonb_to_recordset(${numbered(events)}) as e(n int, type text, data jsonb) order by e.n`
}

function numbered(events: NewEvent[]): SQL {
  return jsonb(events.map((event, i) => ({ n: i + 1, type: event.type, data: event.data })))
}

const columns = sql`id::float8 as id, project_id as "projectId", generation_id as "generationId", seq, type, data,
  (extract(epoch from created_at) * 1000)::float8 as "createdMs", commit_order::float8 as "commitOrder"`

type Raw = Omit<EventRow, 'at'> & { createdMs: number }

function rowOf({ createdMs, ...rest }: Raw): EventRow {
  return { ...rest, at: new Date(createdMs) }
}

/** Events of one generation with `seq` after the position, in order. */
export async function readGeneration(
  db: Database,
  generationId: string,
  after: Position,
  limit: number,
): Promise<EventPage> {
  const rows = await query<Raw>(
    db,
    sql`select ${columns} from events
      where generation_id = ${generationId} and seq > ${after.major} order by seq limit ${limit}`,
  )
  const last = rows.at(-1)
  return {
    events: rows.map(rowOf),
    end: last ? { major: last.seq!, minor: 0 } : after,
    bound: last ? { major: last.seq!, minor: 0 } : after,
    more: rows.length === limit,
    unsettled: false,
  }
}

/**
 * Events of a project after the position, in an order that never changes: only what no running transaction can still
 * precede. `types` keeps only those kinds. What a run within a run told its root is left out: it is in the feed once.
 */
export async function readFeed(
  db: Database,
  projectId: string,
  after: Position,
  limit: number,
  types?: readonly string[] | null,
): Promise<EventPage> {
  const ofTypes = types ? sql`and type in ${types.length > 0 ? [...types] : ['']}` : sql``
  const rows = await query<Raw & { bound: number; settled: boolean }>(
    db,
    sql`with bound as (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ${shift} as at)
      select page.*, bound.at::float8 as bound, page."commitOrder" < bound.at as settled
      from bound left join lateral (
        select ${columns} from events
        where project_id = ${projectId} and (commit_order, id) > (${after.major}::bigint, ${after.minor}::bigint)
        ${ofTypes} and not data ? 'descendantId' order by commit_order, events.id limit ${limit}
      ) as page on true order by page."commitOrder", page.id`,
  )
  const settled = rows.filter((row) => row.settled)
  const more = settled.length === limit
  const last = settled.at(-1)
  const bound = { major: rows[0]!.bound, minor: 0 }
  const end = more ? { major: last!.commitOrder, minor: last!.id } : isAfter(bound, after) ? bound : after
  return {
    events: settled.map(({ bound: _bound, settled: _settled, ...row }) => rowOf(row)),
    end,
    bound,
    more,
    unsettled: rows.some((row) => row.id !== null && !row.settled),
  }
}

/** The newest number of each of these generations, for the backstop that finds news whose bell was lost. */
export async function newestSeqs(db: Database, generationIds: string[]): Promise<Map<string, number>> {
  const rows = await query<{ id: string; seq: number }>(
    db,
    sql`select generation_id as id, max(seq) as seq from events
      where generation_id in ${generationIds} group by generation_id`,
  )
  return new Map(rows.map((row) => [row.id, row.seq]))
}
