/** From a cursor of a client to a position in a project's feed. */
import { badCursor } from '../../core/page.ts'
import { query, type Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { PubSub } from '../pubsub/pubsub.ts'
import { numberAll } from './numbering.ts'
import {
  beginning,
  decodeCursor,
  isBeginning,
  isMarked,
  markOf,
  type CursorPlace,
  type EventMark,
  type Position,
} from './position.ts'
import { expiredInFeed } from './read.ts'

/**
 * The position in a project's feed. "0" means the beginning of the log; a cursor of another project is BAD_CURSOR. A
 * cursor without a position is one of a generation's stream, or of the previous release: its event is looked up,
 * CURSOR_EXPIRED when it is gone.
 */
export async function feedPosition(
  db: Database,
  pubsub: PubSub,
  cursor: string,
  projectId: string,
): Promise<Position> {
  if (isBeginning(cursor)) return beginning
  const place = decodeCursor(cursor)
  if (place.projectId !== projectId) throw badCursor()
  if (place.position !== null) return { at: place.position, event: markOf(place) }
  const found = await findEvent(db, place)
  if (found.position !== null) return positionOf(db, place, found.position)
  await numberAll(db, pubsub)
  return positionOf(db, place, (await findEvent(db, place)).position!)
}

async function findEvent(db: Database, place: CursorPlace): Promise<EventMark & { position: number | null }> {
  const { id, projectId } = place
  const [found] = await query<EventMark & { position: number | null }>(
    db,
    sql`select id::float8 as id, commit_order::float8 as "commitOrder", position::float8 as position,
      (extract(epoch from created_at) * 1000)::float8 as "createdMs"
      from events where id = ${id}::bigint and project_id = ${projectId}`,
  )
  if (found && isMarked(found, markOf(place))) return found
  throw await expiredInFeed(db, projectId)
}

async function positionOf(db: Database, place: CursorPlace, position: number): Promise<Position> {
  if (place.createdMs === null) return positionInOldOrder(db, place, position)
  return { at: position, event: markOf(place) }
}

/** So many events before a cursor of the previous release are searched for those that it may not have delivered yet. */
const lookBack = 2000

/**
 * A replica of the previous release delivers in the order of transactions. What it had not delivered yet at its
 * cursor, although it has a smaller position, is delivered from there on: rather twice than never, and only while
 * both releases run.
 */
async function positionInOldOrder(db: Database, place: CursorPlace, position: number): Promise<Position> {
  const { projectId, commitOrder, id } = place
  const [undelivered] = await query<{ any: boolean; before: number | null; event: EventMark | null }>(
    db,
    sql`with undelivered as (
        select min(position) as at
        from (
          select position, commit_order, id
          from events
          where project_id = ${projectId} and position < ${position}::bigint
          order by position desc
          limit ${lookBack}
        ) as near
        where (commit_order, id) > (${commitOrder}::bigint, ${id}::bigint)
      )
      select undelivered.at is not null as any, e.position::float8 as before, case when e.id is not null then
        jsonb_build_object('id', e.id, 'commitOrder', e.commit_order,
          'createdMs', (extract(epoch from e.created_at) * 1000)::float8) end as event
      from undelivered
      left join lateral (
        select *
        from events
        where project_id = ${projectId} and position < undelivered.at
        order by position desc
        limit 1
      ) as e on true`,
  )
  if (!undelivered!.any) return { at: position, event: markOf(place) }
  return undelivered!.before === null ? beginning : { at: undelivered!.before, event: undelivered!.event }
}
