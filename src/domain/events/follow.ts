/**
 * Reads and follows the log: pages and streams of a generation, the feed of a project, and cursors to go on from. No
 * permission is checked here: the modules that own generations and projects check theirs before they call.
 */
import type { Database } from '../../store/db/database.ts'
import { feedSource, generationSource, type EventBroadcaster } from '../../store/events/broadcaster.ts'
import { numberAll } from '../../store/events/numbering.ts'
import { encodeFeedCursor, generationPosition, type Position } from '../../store/events/position.ts'
import type { Delta, PubSub } from '../../store/pubsub/pubsub.ts'
import { newestInFeed, readGeneration } from '../../store/events/read.ts'
import { feedPosition } from '../../store/events/resume.ts'
import { openStream } from '../../store/events/stream.ts'
import type { RecordedEvent } from './event.ts'
import { isLastOfGeneration } from './generation-events.ts'

/** The services that the log is read with. */
export interface EventLog {
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
