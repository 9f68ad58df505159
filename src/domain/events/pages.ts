/** Reads the log page by page, for programs that keep their place in it themselves. Checks no permission. */
import type { Database } from '../../store/db/database.ts'
import { beginning, encodeFeedCursor, type Position } from '../../store/events/position.ts'
import {
  newestInFeed,
  positionInFeed,
  readEvents,
  readFeed,
  readGeneration,
} from '../../store/events/read.ts'
import { feedPosition } from '../../store/events/resume.ts'
import { searchFeed, type FeedFilter } from '../../store/events/search.ts'
import type { RecordedEvent } from './event.ts'
import { newestPosition, type EventLog } from './follow.ts'
import { isLastOfGeneration } from './generation-events.ts'
import { toolCallSettled } from './tool-call-events.ts'

/** A part of the log: the feed of a project, of these types or of one call, or the log of one generation. */
export interface LogPart {
  projectId: string
  generationId: string | null
  toolCallId: string | null
  types: readonly string[] | null
}

export interface LogPage {
  events: RecordedEvent[]
  /** Everything up to here was read. */
  end: Position
  /** More events are there right now. */
  more: boolean
  /** Nothing comes after this page. */
  isLast: boolean
}

/** At most `limit` events after the position. CURSOR_EXPIRED when the event of the position is not in the log any more. */
export async function readPart(
  db: Database,
  part: LogPart,
  after: Position,
  limit: number,
): Promise<LogPage> {
  const { projectId, generationId, toolCallId, types } = part
  const page = generationId
    ? await readGeneration(db, generationId, after, limit)
    : await readFeed(db, projectId, after, limit, types, toolCallId)
  const events = page.events as RecordedEvent[]
  const ended = generationId
    ? page.endType !== null && isLastOfGeneration(page.endType)
    : toolCallId !== null && events.some(({ type }) => type === toolCallSettled.type)
  return { events, end: page.end, more: page.more, isLast: ended && !page.more }
}

/** The events of a project with these ids; those that are not in the log any more are missing. */
export async function eventsById(
  db: Database,
  projectId: string,
  ids: readonly number[],
): Promise<Map<number, RecordedEvent>> {
  const rows = (await readEvents(db, projectId, ids)) as RecordedEvent[]
  return new Map(rows.map((event) => [event.id, event]))
}

/**
 * A place in the feed of a project: after the event of a cursor, or without one after everything that is committed by
 * now. CURSOR_EXPIRED when the event of the cursor is not in the log any more.
 */
export async function placeInFeed(
  log: Pick<EventLog, 'db' | 'pubsub'>,
  projectId: string,
  cursor: string | null | undefined,
): Promise<Position> {
  if (cursor) {
    const place = await feedPosition(log.db, log.pubsub, cursor, projectId)
    if (place.event) await readFeed(log.db, projectId, place, 1)
    return place
  }
  const newest = await newestInFeed(log.db, projectId, await newestPosition(log))
  return newest ? positionInFeed(newest) : beginning
}

/** A page of a search in the feed of a project. */
export interface FeedPage {
  events: RecordedEvent[]
  /** Everything up to here was searched: the next page and a subscription go on after it. */
  endCursor: string
  more: boolean
}

/**
 * At most `first` events of a project after a cursor that match the filter; without a cursor from the beginning of the
 * log. It holds everything that was committed before this call. A page reads a bounded part of the log, so it may have
 * fewer events although `more` is true. CURSOR_EXPIRED when the event of the cursor is not in the log any more.
 */
export async function searchProject(
  log: Pick<EventLog, 'db' | 'pubsub'>,
  projectId: string,
  { after, first, ...filter }: FeedFilter & { after?: string | null | undefined; first: number },
): Promise<FeedPage> {
  await newestPosition(log)
  const cursor = after || '0'
  const place = await feedPosition(log.db, log.pubsub, cursor, projectId)
  const { events, end, more } = await searchFeed(log.db, projectId, place, first, filter)
  const endCursor = end ? encodeFeedCursor(end) : cursor
  return { events: events as RecordedEvent[], endCursor, more }
}
