/**
 * Reads and follows the log: pages and streams of a generation, the feed of a project, and cursors to go on from. No
 * permission is checked.
 */
import type { Database } from '../../store/db/database.ts'
import { feedSource, generationSource, type EventBroadcaster } from '../../store/events/broadcaster.ts'
import { numberAll } from '../../store/events/numbering.ts'
import {
  encodeFeedCursor,
  generationPosition,
  type Position,
  beginning,
} from '../../store/events/position.ts'
import type { Delta, PubSub } from '../../store/pubsub/pubsub.ts'
import {
  newestInFeed,
  readGeneration,
  positionInFeed,
  readEvents,
  readFeed,
} from '../../store/events/read.ts'
import { feedPosition } from '../../store/events/resume.ts'
import { openStream } from '../../store/events/stream.ts'
import type { RecordedEvent } from './event.ts'
import { isLastOfGeneration } from './generation-events.ts'
import { searchFeed, type FeedFilter } from '../../store/events/search.ts'
import { toolCallSettled } from './tool-call-events.ts'

/** The services that the log is read with. */
interface EventLog {
  db: Database
  broadcaster: EventBroadcaster
  pubsub: PubSub
}

/** An event, or a piece of text on its way, which is never part of the log. */
export type StreamItem = { event: RecordedEvent } | { delta: Delta }

export type EventStream = AsyncIterableIterator<StreamItem>

/** Where a stream begins whose reader has named no cursor: the first item of it. */
export interface StreamStart {
  projectId: string
  cursor: string
}

/** The feed of a project as it grows. */
export type FeedStream = AsyncIterableIterator<StreamItem | { start: StreamStart }>

/**
 * At most `first` events of a generation after a cursor; null: from the beginning. CURSOR_EXPIRED when the event of the
 * cursor is not in the log any more.
 */
export async function readGenerationEvents(
  { db }: Pick<EventLog, 'db'>,
  generationId: string,
  { after, first }: { after: string | number | null; first: number },
): Promise<{ events: RecordedEvent[]; more: boolean }> {
  const { events, more } = await readGeneration(db, generationId, placeOf(after, generationId), first)
  return { events: events as RecordedEvent[], more }
}

/** A cursor, or the number of an event, which the caller knows to be there. */
function placeOf(after: string | number | null | undefined, generationId: string): Position {
  return typeof after === 'number' ? { at: after, event: null } : generationPosition(after, generationId)
}

/**
 * Every event of a generation after a cursor (null: from the beginning), then live with the text on its way, until
 * its last event; at once when the cursor is that of the last one. CURSOR_EXPIRED, before the stream opens, when the
 * event of the cursor is not in the log any more.
 */
export async function followGeneration(
  { db, broadcaster }: EventLog,
  generationId: string,
  cursor: string | number | null | undefined,
): Promise<EventStream> {
  const source = generationSource(db, generationId)
  const after = placeOf(cursor, generationId)
  if (after.event) await source.read(after, 1)
  return openStream(broadcaster, { source, after, deltas: true, isLast: isLastOfGeneration }) as EventStream
}

/**
 * Every event of a project after a cursor, then live, without end. Without a cursor it begins now, and its first item tells
 * where that is; with "0" at the beginning of the log. With `types`, only events of these types. CURSOR_EXPIRED, before the stream opens, when the
 * event of the cursor is not in the log any more.
 */
export async function followProject(
  log: EventLog,
  projectId: string,
  {
    after: cursor,
    types,
  }: { after?: string | null | undefined; types?: readonly string[] | null | undefined },
): Promise<FeedStream> {
  const source = feedSource(log.db, projectId)
  const from = cursor || (await cursorAt(log, projectId, await newestPosition(log)))
  const after = await feedPosition(log.db, log.pubsub, from, projectId)
  if (cursor && after.event) await source.read(after, 1)
  const events = openStream(log.broadcaster, { source, after, types, deltas: false }) as EventStream
  return cursor ? events : startingAt({ projectId, cursor: from }, events)
}

function startingAt(start: StreamStart, events: EventStream): FeedStream {
  let isTold = false
  return {
    async next() {
      if (isTold) return events.next()
      isTold = true
      return { done: false, value: { start } }
    },
    async return() {
      isTold = true
      return events.return!()
    },
    async throw(error) {
      isTold = true
      return events.throw!(error)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/**
 * The newest position in the whole log: take it before reading a snapshot, see cursorAt. Everything that was committed
 * before is at or before it.
 */
export function newestPosition({ db, pubsub }: Pick<EventLog, 'db' | 'pubsub'>): Promise<number> {
  return numberAll(db, pubsub)
}

/**
 * The cursor of a project's feed at a newest position: following the feed after it gives everything that was committed
 * since that position was taken, and nothing that was committed before.
 */
export async function cursorAt(
  { db }: Pick<EventLog, 'db'>,
  projectId: string,
  newest: number,
): Promise<string> {
  const event = await newestInFeed(db, projectId, newest)
  return event ? encodeFeedCursor(event) : '0'
}

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
