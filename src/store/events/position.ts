/**
 * A place in a stream of events, the opaque cursor that clients hold for it, and where the feed of a project begins.
 */
import { readJson, writeJson } from '../../core/json.ts'
import { badCursor } from '../../core/page.ts'
import { jsonb, query, type Database } from '../db/database.ts'
import { sql, type SQL } from '../db/sql.ts'

/** A place in a stream: right after an event. */
export interface Position {
  /** A seq in a generation's stream, a position in a project's feed; 0 is the beginning. */
  at: number
  /** The identity of that event; null at the beginning. */
  event: EventMark | null
}

/** The identity of an event: no two events of any history of the log share it. */
export interface EventMark {
  id: number
  commitOrder: number
  /** Null in cursors of the first version. */
  createdMs: number | null
}

export const beginning: Position = { at: 0, event: null }

/** The part of an event that a cursor holds. */
export interface EventPlace {
  projectId: string
  generationId: string | null
  seq: number | null
  /** Null while the event has no place in the feed yet. */
  position: number | null
  commitOrder: number
  id: number
  createdMs: number
  /** The log that the event was read from. */
  incarnation: string | null
}

/** A decoded cursor. Those of an earlier release have neither `createdMs` nor `incarnation`. */
export type CursorPlace = Omit<EventPlace, 'createdMs'> & { createdMs: number | null }

export function markOf({ id, commitOrder, createdMs }: CursorPlace): EventMark {
  return { id, commitOrder, createdMs }
}

/** Whether the event is the one that the mark was taken of. */
export function isMarked(event: EventMark | undefined, mark: EventMark): boolean {
  return (
    event !== undefined &&
    event.id === mark.id &&
    event.commitOrder === mark.commitOrder &&
    (mark.createdMs === null || event.createdMs === mark.createdMs)
  )
}

/** The cursor of an event in its generation's stream. Replicas of the previous release can read it. */
export function encodeGenerationCursor(event: EventPlace): string {
  return encode([1, ...partsOf(event)])
}

/** The cursor of an event in its project's feed. The event must have its position. */
export function encodeFeedCursor(event: EventPlace): string {
  return encode([2, ...partsOf(event), event.position])
}

function partsOf(event: EventPlace): unknown[] {
  const { projectId, generationId, seq, commitOrder, id, createdMs, incarnation } = event
  return [projectId, generationId, seq, commitOrder, id, createdMs, incarnation]
}

function encode(parts: unknown[]): string {
  return Buffer.from(writeJson(parts)).toString('base64url')
}

/** What the column holds: a forged cursor beyond it must not reach the database. */
const largestSeq = 2 ** 31 - 1

/** Strict: BAD_CURSOR for anything that no release can have made. */
export function decodeCursor(cursor: string): CursorPlace {
  try {
    const parts = readJson(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    const [version, projectId, generationId, seq, commitOrder, id, createdMs, incarnation, position] = parts
    const numbers = [seq ?? 0, commitOrder, id, createdMs ?? 0, position ?? 0]
    const valid =
      ((version === 1 && position === undefined) || (version === 2 && typeof position === 'number')) &&
      typeof projectId === 'string' &&
      (generationId === null || typeof generationId === 'string') &&
      numbers.every((n) => Number.isSafeInteger(n) && (n as number) >= 0) &&
      ((seq as number | null) ?? 0) <= largestSeq
    const rest = {
      createdMs: createdMs ?? null,
      incarnation: incarnation ?? null,
      position: position ?? null,
    }
    if (valid) return { projectId, generationId, seq, commitOrder, id, ...rest } as CursorPlace
  } catch {
    // falls through to the refusal below
  }
  throw badCursor()
}

/**
 * The position in one generation's stream. `null`, an empty text and "0" mean the beginning; a cursor of another
 * stream is BAD_CURSOR. The next read after the position checks that its event is still there.
 */
export function generationPosition(cursor: string | null | undefined, generationId: string): Position {
  if (isBeginning(cursor)) return beginning
  const place = decodeCursor(cursor)
  if (place.generationId !== generationId || place.seq === null) throw badCursor()
  return { at: place.seq, event: markOf(place) }
}

export function isBeginning(cursor: string | null | undefined): cursor is null | undefined | '' | '0' {
  return cursor === null || cursor === undefined || cursor === '' || cursor === '0'
}

/** The position after which the feed of a project begins, as an expression; 0: with its first event. */
export function startOf(projectId: SQL | string): SQL {
  return sql`coalesce((select position from feed_starts where project_id = ${projectId}), 0)`
}

/** Selects the place of the start with the columns of an event without its data; no row before anything was removed. */
export function startRow(projectId: string, incarnation: SQL, part: number): SQL {
  return sql`select ${part}::int as part, (mark->>'id')::float8 as id, project_id as "projectId",
      null::text as "generationId", null::int as seq, ''::text as type, 'null'::jsonb as data,
      null::text as "requestedBy", (mark->>'createdMs')::float8 as "createdMs", (mark->>'commitOrder')::float8 as "commitOrder",
      position::float8 as position, ${incarnation} as incarnation
    from feed_starts
    where project_id = ${projectId}`
}

/** An event that is removed, and its place in the feed. */
export interface RemovedPlace extends EventMark {
  position: number
}

/** Moves the start up to the newest of the events that the caller's transaction removes. It never moves back. */
export async function moveFeedStart(tx: Database, projectId: string, newest: RemovedPlace): Promise<void> {
  const { position, ...mark } = newest
  await query(
    tx,
    sql`insert into feed_starts (project_id, position, mark)
      values (${projectId}, ${position}::bigint, ${jsonb(mark)})
      on conflict (project_id) do update set
        position = excluded.position,
        mark = excluded.mark,
        moved_at = now()
      where feed_starts.position < excluded.position`,
  )
}
