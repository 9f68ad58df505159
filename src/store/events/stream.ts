/** One subscriber's stream: history after a position, then live, no gap and no duplicate. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Delta } from '../pubsub/pubsub.ts'
import {
  isExpired,
  type EventBroadcaster,
  type Source,
  type LiveItem,
  type Subscriber,
} from './broadcaster.ts'
import type { Position } from './position.ts'
import type { EventRow } from './read.ts'

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
 * Opens the stream. The subscriber is attached before the first read, so no event is lost between table and live.
 * Fails with CURSOR_EXPIRED when the log has lost the event that the stream has reached, at the beginning or later.
 */
export function openStream(
  broadcaster: EventBroadcaster,
  options: StreamOptions,
): AsyncIterableIterator<StreamItem> {
  return new EventStream(broadcaster, options)
}

/** Not an `async function*`: its `return()` must end a pending `next()` at once and free the subscriber. */
class EventStream implements AsyncIterableIterator<StreamItem> {
  readonly #broadcaster: EventBroadcaster
  readonly #options: StreamOptions
  readonly #subscriber: Subscriber
  #at: Position
  #page: EventRow[] = []
  /** How far the page reached: with a filter beyond its last event. */
  #pageEnd: Position
  #catchingUp = true
  #failures = 0
  #done = false

  constructor(broadcaster: EventBroadcaster, options: StreamOptions) {
    this.#broadcaster = broadcaster
    this.#options = options
    this.#subscriber = broadcaster.attach(options.source)
    this.#at = this.#pageEnd = options.after
  }

  async next(): Promise<IteratorResult<StreamItem>> {
    while (!this.#done) {
      const event = this.#page.shift()
      let item: StreamItem | null = null
      if (event) item = this.#fromPage(event)
      else if (this.#catchingUp) await this.#fillPage()
      else {
        item = this.#fromLive()
        if (!item && this.#isIdle()) await this.#subscriber.wait()
      }
      if (item) return { done: false, value: item }
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<StreamItem>> {
    this.#finish()
    return { done: true, value: undefined }
  }

  async throw(error: unknown): Promise<never> {
    this.#finish()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #finish(): void {
    if (!this.#done) this.#broadcaster.detach(this.#options.source, this.#subscriber)
    this.#done = true
    this.#page = []
    this.#subscriber.wake()
  }

  async #fillPage(): Promise<void> {
    const { source, types, isLast, patience = defaultPatience } = this.#options
    try {
      const read = await source.read(this.#at, pageSize, types)
      this.#failures = 0
      this.#page = read.events
      this.#pageEnd = read.end
      if (this.#page.length === 0) this.#at = this.#pageEnd
      if (read.more) return
      this.#catchingUp = false
      if (this.#page.length === 0 && read.endType !== null && isLast?.(read.endType)) this.#finish()
      else this.#broadcaster.caughtUp(source, read.end)
    } catch (error) {
      if (isExpired(error) || ++this.#failures > patience.tries) {
        this.#finish()
        throw error
      }
      await pause(patience.pauseMs)
    }
  }

  #fromPage(event: EventRow): StreamItem | null {
    const place = this.#options.source.positionOf(event)
    const item = place.at > this.#at.at ? this.#accept(event, place) : null
    if (this.#page.length === 0 && this.#pageEnd.at > this.#at.at) this.#at = this.#pageEnd
    return item
  }

  /** The next item of the buffer; null when there is none, or the one that was next is not for this stream. */
  #fromLive(): StreamItem | null {
    const item = this.#subscriber.shift()
    if (item) return this.#fromBuffer(item)
    if (this.#subscriber.behind) {
      this.#subscriber.behind = false
      this.#catchingUp = true
    }
    return null
  }

  /** Whether there is nothing to do before the next push: `wait` returns at once while the buffer has items. */
  #isIdle(): boolean {
    return !this.#catchingUp && !this.#done
  }

  #fromBuffer(item: LiveItem): StreamItem | null {
    if ('delta' in item) return this.#options.deltas && item.delta.after === this.#at.at ? item : null
    if (item.at.at <= this.#at.at) return null
    if (item.previous > this.#at.at) {
      this.#catchingUp = true
      return null
    }
    return this.#accept(item.event, item.at)
  }

  #accept(event: EventRow, place: Position): StreamItem | null {
    const { types, isLast } = this.#options
    this.#at = place
    if (types && !types.includes(event.type)) return null
    if (isLast?.(event.type)) this.#finish()
    return { event }
  }
}
