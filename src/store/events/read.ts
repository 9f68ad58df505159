/**
 * Reads the log by position. A read after an event proves in the same statement that this event is still there: after
 * a restore or a failover that lost events, a reader of the lost ones gets CURSOR_EXPIRED and never misses their
 * replacements.
 */
import { AppError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { jsonb, query, type Database } from '../db/database.ts'
import { newestPositionOf } from '../db/incarnation.ts'
import { sql, type SQL } from '../db/sql.ts'
import { rowsOf } from '../db/rows.ts'
import {
  startOf,
  startRow,
  encodeFeedCursor,
  encodeGenerationCursor,
  isMarked,
  markOf,
  type EventPlace,
  type Position,
} from './position.ts'

/** An event as it is stored. domain/events pairs each `Type` with its `Data`. */
export interface EventRow<Type extends string = string, Data = JsonObject> extends EventPlace {
  type: Type
  data: Data
  /** Whose the thing is that it tells of; null when the event does not say. */
  requestedBy: string | null
  at: Date
}

export interface EventPage {
  events: EventRow[]
  /** Everything up to here was read; continue after it. */
  end: Position
  /** The type of the event at `end`; null when it is not known. */
  endType: string | null
  /** More events are there right now. */
  more: boolean
}

/** The log in which an event got its position: the same for as long as the event exists. */
export const incarnationOf = sql`(
      select coalesce(
        (
          select e->>'name'
          from jsonb_array_elements(earlier) as e
          where (e->>'newest')::bigint >= position
          limit 1
        ),
        incarnation
      )
      from installation
    )`

/** The columns of an event; `data` may be left out where it is not needed. */
export function columns(data: SQL = sql`data`): SQL {
  return sql`id::float8 as id, project_id as "projectId", generation_id as "generationId", seq, type, ${data} as data,
    requested_by as "requestedBy", (extract(epoch from created_at) * 1000)::float8 as "createdMs", commit_order::float8 as "commitOrder",
    position::float8 as position, ${incarnationOf} as incarnation`
}

export type Raw = Omit<EventRow, 'at'>

export function rowOf(raw: Raw): EventRow {
  return { ...raw, at: new Date(raw.createdMs) }
}

export function positionInGeneration(event: EventPlace): Position {
  return { at: event.seq!, event: markOf(event) }
}

export function positionInFeed(event: EventPlace): Position {
  return { at: event.position!, event: markOf(event) }
}

/**
 * At most `limit` events of one generation after the position, in order. CURSOR_EXPIRED when its event is not in the
 * log any more.
 */
export async function readGeneration(
  db: Database,
  generationId: string,
  after: Position,
  limit: number,
): Promise<EventPage> {
  const rows = await query<Raw>(
    db,
    sql`select ${columns(sql`case when seq = ${after.at}::int then 'null'::jsonb else data end`)}
      from events
      where generation_id = ${generationId} and seq >= ${after.at}::int
      order by seq
      limit ${limit + 2}`,
  )
  const there = rows[0]?.seq === after.at ? rows.shift() : undefined
  if (after.event && !isMarked(there, after.event)) throw await expiredInGeneration(db, generationId)
  // A log has its first event from the beginning on.
  if (!there && rows.length === 0) await assertNotRemoved(db, generationId)
  const events = rows.slice(0, limit).map(rowOf)
  const last = events.at(-1) ?? there
  return {
    events,
    end: last ? positionInGeneration(last) : after,
    endType: last?.type ?? null,
    more: rows.length > limit,
  }
}

/**
 * At most `limit` events of a project after the position, in an order that never changes. With `types`, only events
 * of these types, with `toolCallId` only those of that call. Copies in the log of a root are left out: each event is in the feed once. CURSOR_EXPIRED when the
 * position's event is gone or lies before the start of the feed. Events that were committed a moment ago are missing until
 * they are numbered.
 */
export async function readFeed(
  db: Database,
  projectId: string,
  after: Position,
  limit: number,
  types?: readonly string[] | null | undefined,
  toolCallId: string | null = null,
): Promise<EventPage> {
  const ofTypes = sql.join([
    types ? sql`and type in ${types.length > 0 ? [...types] : ['']}` : sql``,
    toolCallId ? sql` and data->>'toolCallId' = ${toolCallId}` : sql``,
  ])
  const at = sql`${after.at}::bigint`
  const rows = await query<Raw & { part: number }>(
    db,
    sql`(${startRow(projectId, incarnationOf, -1)}) union all (
        select 0 as part, ${columns(sql`'null'::jsonb`)}
        from events
        where ${newestOf(projectId)}
        limit 1
      ) union all (
        select 1 as part, ${columns(sql`case when position = ${at} then 'null'::jsonb else data end`)}
        from events
        where project_id = ${projectId} and position >= ${at} and position > ${startOf(projectId)}
          and (position = ${at} or (not data ? 'descendantId' ${ofTypes}))
        order by events.position
        limit ${limit + 2}
      )
      order by part, position`,
  )
  const start = rows[0]?.part === -1 ? rows.shift() : undefined
  const newest = (rows[0]?.part === 0 ? rows.shift() : undefined) ?? start
  const there = rows[0]?.position === after.at ? rows.shift() : placeAt(start, after)
  if (after.event && !isMarked(there, after.event)) throw await expiredInFeed(db, projectId)
  const events = rows.slice(0, limit).map(rowOf)
  const more = rows.length > limit
  const last = more ? events.at(-1) : newest
  const end = last && last.position! > after.at ? positionInFeed(last) : after
  return { events, end, endType: last?.type ?? null, more }
}

/** The events of a project with these ids, in no particular order; those that are not in the log are missing. */
export async function readEvents(
  db: Database,
  projectId: string,
  ids: readonly number[],
): Promise<EventRow[]> {
  if (ids.length === 0) return []
  const rows = await query<Raw>(
    db,
    sql`select ${columns()}
      from events
      where id in ${[...ids]} and project_id = ${projectId}`,
  )
  return rows.map(rowOf)
}

/** The start of a feed as the event of a place right after it. */
export function placeAt<Row extends Raw>(start: Row | undefined, { at }: Position): Row | undefined {
  return start?.position === at ? start : undefined
}

function newestOf(projectId: string): SQL {
  return sql`project_id = ${projectId} and position > ${startOf(projectId)} order by events.position desc`
}

/** The newest place in a project's feed, not newer than `bound`: an event, or the start; null when there is none. */
export async function newestInFeed(
  db: Database,
  projectId: string,
  bound: number = Number.MAX_SAFE_INTEGER,
): Promise<EventRow | null> {
  const rows = await query<Raw>(
    db,
    sql`select *
      from (
        (
          select 1 as part, ${columns(sql`'null'::jsonb`)}
          from events
          where project_id = ${projectId} and position <= ${bound}::bigint
          order by events.position desc
          limit 1
        ) union all (${startRow(projectId, incarnationOf, 0)} and position <= ${bound}::bigint)
      ) as places
      order by position desc
      limit 1`,
  )
  return rows[0] ? rowOf(rows[0]) : null
}

/**
 * CURSOR_EXPIRED, with the cursors from which the caller may go on: `oldestCursor` gives everything that the feed holds,
 * `newestCursor` only what comes from now on.
 */
export async function expiredInFeed(db: Database, projectId: string): Promise<AppError> {
  const rows = await query<Raw & { part: number }>(
    db,
    sql`(${startRow(projectId, incarnationOf, -1)}) union all (
        select 0 as part, ${columns(sql`'null'::jsonb`)} from events where ${newestOf(projectId)} limit 1
      )
      order by part`,
  )
  const [oldest, newest] = [rows.find(({ part }) => part === -1), rows.at(-1)]
  return new AppError(
    'CURSOR_EXPIRED',
    `The event of this cursor is not in the log any more: ${whyGone} ${goOn}`,
    {
      oldestCursor: oldest ? encodeFeedCursor(oldest) : '0',
      newestCursor: newest ? encodeFeedCursor(newest) : '0',
    },
  )
}

const whyGone = 'it was removed by retention, or the log was restored to an earlier state.'
const goOn =
  'Go on from oldestCursor for everything that the log holds, or load the state anew and go on from newestCursor.'

async function expiredInGeneration(db: Database, generationId: string): Promise<AppError> {
  await assertNotRemoved(db, generationId)
  const [newest] = await query<Raw>(
    db,
    sql`select ${columns(sql`'null'::jsonb`)} from events
      where generation_id = ${generationId} order by seq desc limit 1`,
  )
  return new AppError(
    'CURSOR_EXPIRED',
    `The event of this cursor is not in the log any more: ${whyGone} ${goOn}`,
    {
      oldestCursor: '0',
      newestCursor: newest ? encodeGenerationCursor(newest) : '0',
    },
  )
}

/** Throws CURSOR_EXPIRED with the time of the removal when the generation was removed with its log. */
async function assertNotRemoved(db: Database, generationId: string): Promise<void> {
  const [gone] = await query<{ at: string }>(
    db,
    sql`select to_char(removed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at
      from removed_generations where id = ${generationId}`,
  )
  if (gone)
    throw new AppError('CURSOR_EXPIRED', `This generation was removed on ${gone.at} with its log.`, {
      removedAt: gone.at,
    })
}

/** A stream and how far a process has read it. */
export interface ReadProgress {
  id: string
  at: number
}

/** Those generations whose log does not end where it was read to. Costs one lookup by primary key each. */
export async function movedGenerations(db: Database, reached: ReadProgress[]): Promise<string[]> {
  const rows = await query<{ id: string }>(
    db,
    sql`select r.id
      from ${rowsOf(jsonb(reached), reached.length, 'r(id text, at int)')}
      where r.at <> (select g.last_seq from generations as g where g.id = r.id)`,
  )
  return rows.map((row) => row.id)
}

/** Those projects whose feed does not end where it was read to. Costs one index lookup each. */
export async function movedFeeds(db: Database, reached: ReadProgress[]): Promise<string[]> {
  const rows = await query<{ id: string }>(
    db,
    sql`select r.id
      from ${rowsOf(jsonb(reached), reached.length, 'r(id text, at bigint)')}
      where r.at <> greatest(${newestPositionOf(sql`r.id`)}, ${startOf(sql`r.id`)})`,
  )
  return rows.map((row) => row.id)
}
