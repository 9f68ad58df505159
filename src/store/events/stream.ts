/** One subscriber's stream: history after a position, then live, no gap and no duplicate. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Delta } from './pubsub.ts'
import { isExpired, type Live, type Source } from './live.ts'
import type { Position } from './position.ts'
import type { EventRow } from './read.ts'
import type { LiveItem } from './subscriber.ts'

export interface StreamOptions {
  source: Source
  after: Position
  /** Only events of these types; the others still move the position. */
  types?: readonly string[] | null | undefined
  /** Whether the stream includes text on its way. */
  deltas: boolean
  /** The stream ends after an event of such a type, also when it begins there. */
  isLast?: (type: string) => boolean
  /** While the database is away: how long between tries, in milliseconds, and for how many. */
  patience?: { pauseMs: number; tries: number }
}

export type StreamItem = { event: EventRow } | { delta: Delta }

const pageSize = 200
/** A minute: longer than a database takes to come back. */
const defaultPatience = { pauseMs: 250, tries: 240 }

/**
 * Opens the stream. The subscriber is attached before the first read, so no event is lost between table and live. Fails with
 * CURSOR_EXPIRED when the log has lost the event that the stream has reached, at the beginning or later. The iterator is
 * written by hand, not as `async function*`: its `return()` must end a pending `next()` at once and free the subscriber.
 */
export function openStream(live: Live, options: StreamOptions): AsyncIterableIterator<StreamItem> {
  const { source, types, patience = defaultPatience } = options
  const subscriber = live.attach(source)
  let at = options.after
  let page: EventRow[] = []
  /** How far the page reached: with a filter beyond its last event. */
  let pageEnd = at
  let catchingUp = true
  let failures = 0
  let done = false

  const finish = () => {
    if (!done) live.detach(source, subscriber)
    done = true
    page = []
    subscriber.wake()
  }

  const fillPage = async () => {
    try {
      const read = await source.read(at, pageSize, types)
      failures = 0
      page = read.events
      pageEnd = read.end
      if (page.length === 0) at = pageEnd
      if (read.more) return
      catchingUp = false
      if (page.length === 0 && read.endType !== null && options.isLast?.(read.endType)) finish()
      else live.caughtUp(source, read.end)
    } catch (error) {
      if (isExpired(error) || ++failures > patience.tries) {
        finish()
        throw error
      }
      await pause(patience.pauseMs)
    }
  }

  const accept = (event: EventRow, place: Position): StreamItem | null => {
    at = place
    if (types && !types.includes(event.type)) return null
    if (options.isLast?.(event.type)) finish()
    return { event }
  }

  const fromBuffer = (item: LiveItem): StreamItem | null => {
    if ('delta' in item) return options.deltas && item.delta.after === at.at ? item : null
    if (item.at.at <= at.at) return null
    if (item.previous > at.at) {
      catchingUp = true
      return null
    }
    return accept(item.event, item.at)
  }

  const fromPage = (event: EventRow): StreamItem | null => {
    const place = source.positionOf(event)
    const item = place.at > at.at ? accept(event, place) : null
    if (page.length === 0 && pageEnd.at > at.at) at = pageEnd
    return item
  }

  const next = async (): Promise<IteratorResult<StreamItem>> => {
    while (!done) {
      const event = page.shift()
      let item: StreamItem | null = null
      if (event) item = fromPage(event)
      else if (catchingUp) await fillPage()
      else {
        const live = subscriber.shift()
        if (live) item = fromBuffer(live)
        else if (subscriber.behind) {
          subscriber.behind = false
          catchingUp = true
        } else await subscriber.wait()
      }
      if (item) return { done: false, value: item }
    }
    return { done: true, value: undefined }
  }

  return {
    next,
    async return() {
      finish()
      return { done: true, value: undefined }
    },
    async throw(error: unknown) {
      finish()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
