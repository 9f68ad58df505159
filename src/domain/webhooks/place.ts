/** Places of cursors: in the log of a generation by seq, else in the feed by position. */
import type { Position } from '../../store/events/position.ts'
import { positionInFeed, positionInGeneration } from '../../store/events/read.ts'
import type { LogPart, RecordedEvent } from '../events/index.ts'

/** The place right after an event. */
export function positionOf(event: RecordedEvent, { generationId }: LogPart): Position {
  return generationId === null ? positionInFeed(event) : positionInGeneration(event)
}
