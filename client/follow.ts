/**
 * A stream of events as an async iterator that outlives its connections: after each loss it goes on behind the last event.
 * What is read slower than it comes is not kept: the subscription ends when the buffer is full, and begins again behind the
 * last event of the buffer when that has been read.
 */
import {
  abortReason,
  CursorExpiredError,
  errorFrom,
  GatehouseError,
  LimitedError,
  type ServerError,
} from './errors.ts'
import { waitAfter } from './pause.ts'
import type { Server } from './server.ts'
import type { StreamResult, Transport } from './transport.ts'

export interface FollowOptions {
  /** The cursor of the last event that the caller has. */
  after?: string | null | undefined
  /** Ends the stream: the iterator throws the reason. */
  signal?: AbortSignal | undefined
  /** The most events that are kept for a reader that is slower than they come. Default: 256. */
  buffer?: number | undefined
  /**
   * What follows when the log does not hold the event of the cursor: `throw` CursorExpiredError, or go on with all that it
   * holds (`oldest`), or with only what comes (`newest`). Default: throw.
   */
  onCursorExpired?: 'throw' | 'oldest' | 'newest' | undefined
}

/** An event with its place in the log; that of a text delta is the place before it. */
export interface Placed {
  cursor: string
  type?: string
  __typename?: string
}

/** What is followed. */
export interface Stream {
  query: string
  variables: Record<string, unknown>
  /** Whether an event is the last one; null for a stream without an end. */
  isLast: ((event: Placed) => boolean) | null
}

/** Whether it is the first item of a stream that named no cursor: where that begins, which is no event for the reader. */
const isStart = ({ type, __typename }: Placed) =>
  type === 'STREAM_STARTED' || __typename === 'StreamStartedEvent'

/** Errors after which the same subscription may be served a moment later. */
const passing = new Set(['UNAVAILABLE', 'LIMITED', 'INTERNAL'])
/** So many unexpected errors in a row without an event between, and the stream fails. */
const mostInternal = 5
/** A subscription that lived this long was well: waits begin anew after it. Milliseconds. */
const steadyMs = 10_000

type Waiting<Event> = {
  resolve(result: IteratorResult<Event, undefined>): void
  reject(error: unknown): void
}

/** Not an `async function*`: its `return()` must end a pending `next()` at once. */
export class EventStream<Event extends Placed> implements AsyncIterableIterator<Event, undefined> {
  readonly #server: Server
  readonly #transport: Transport
  readonly #stream: Stream
  readonly #options: FollowOptions
  readonly #buffer: Event[] = []
  readonly #waiting: Waiting<Event>[] = []
  #after: string | null
  #stop: (() => void) | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #openedAt = 0
  #failures = 0
  #internal = 0
  /** Whether the last subscription completed without an event. */
  #completedEmpty = false
  #newest: Event | null = null
  /** The key that was refused last, as `authorization`. */
  #key: string | null = null
  #end: { error?: unknown } | null = null

  constructor(server: Server, transport: Transport, stream: Stream, options: FollowOptions) {
    this.#server = server
    this.#transport = transport
    this.#stream = stream
    this.#options = options
    this.#after = options.after ?? null
    if (options.signal?.aborted) this.#abort()
    else {
      options.signal?.addEventListener('abort', this.#abort)
      this.#open()
    }
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const event = this.#buffer.shift()
    if (event) {
      // The buffer was full and the subscription has ended: it goes on once all is read.
      if (this.#buffer.length === 0 && this.#stop === null && !this.#end && this.#timer === undefined)
        this.#open()
      return Promise.resolve({ done: false, value: event })
    }
    if (!this.#end) return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
    const { error } = this.#end
    // An error is thrown once, as by a generator.
    this.#end = {}
    return error === undefined ? Promise.resolve({ done: true, value: undefined }) : Promise.reject(error)
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    this.#buffer.length = 0
    this.#finish({})
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #open(): void {
    this.#openedAt = Date.now()
    let events = 0
    const { query, variables } = this.#stream
    let isOpen = true
    let stop = () => {}
    const close = () => {
      isOpen = false
      if (this.#stop === close) this.#stop = null
      stop()
    }
    this.#stop = close
    const whileOpen =
      <Words extends unknown[]>(hear: (...words: Words) => void) =>
      (...words: Words) => {
        if (isOpen) hear(...words)
      }
    stop = this.#transport.open(
      { query, variables: { ...variables, after: this.#after } },
      {
        next: whileOpen((result: StreamResult) => {
          if (result.errors?.[0]) return this.#refused(result.errors)
          const event = Object.values(result.data ?? {})[0] as Event | null | undefined
          if (!event) return
          events++
          this.#take(event)
        }),
        lost: whileOpen((reason: unknown) => this.#lost(reason)),
        refused: whileOpen((errors: readonly ServerError[]) => this.#refused(errors)),
        completed: whileOpen(() => this.#completed(events)),
      },
    )
    // The transport may have told of its end before it returned.
    if (!isOpen) stop()
  }

  #take(event: Event): void {
    this.#internal = 0
    this.#failures = 0
    this.#key = null
    this.#completedEmpty = false
    this.#newest = event
    this.#after = event.cursor || this.#after
    if (isStart(event)) return
    const reader = this.#waiting.shift()
    if (reader) return reader.resolve({ done: false, value: event })
    this.#buffer.push(event)
    if (this.#buffer.length >= (this.#options.buffer ?? 256)) this.#stop?.()
  }

  #lost(reason: unknown): void {
    if (reason instanceof GatehouseError) return this.#fail(reason)
    this.#again(reason, 0)
  }

  /** A stream is complete after its last event; or when nothing follows the cursor, twice, as after that event itself. */
  #completed(events: number): void {
    const { isLast } = this.#stream
    const isAfterLast = this.#newest !== null && isLast?.(this.#newest) === true
    const isOver = isAfterLast || (isLast !== null && events === 0 && this.#completedEmpty)
    if (isOver) return this.#finish({})
    this.#completedEmpty = events === 0
    this.#again(new Error('the stream ended before its last event'), 0)
  }

  #refused(errors: readonly ServerError[]): void {
    const error = errorFrom(errors[0]!)
    const { onCursorExpired = 'throw' } = this.#options
    if (error instanceof CursorExpiredError && onCursorExpired !== 'throw') {
      const cursor = onCursorExpired === 'oldest' ? error.oldestCursor : error.newestCursor
      if (cursor === null || cursor === this.#after) return this.#fail(error)
      this.#after = cursor
      return this.#again(error, 0)
    }
    if (error.code === 'UNAUTHENTICATED' && this.#server.renewsKey) return void this.#renewed(error)
    const isUnexpected = error.code === 'INTERNAL' && ++this.#internal >= mostInternal
    if (!passing.has(error.code) || isUnexpected) return this.#fail(error)
    this.#again(error, error instanceof LimitedError ? (error.retryAfterMs ?? 0) : 0)
  }

  /** A key may have been replaced since the stream was opened: it goes on with another one, but not with the same. */
  async #renewed(error: GatehouseError): Promise<void> {
    this.#stop?.()
    try {
      const key = await this.#server.authorization()
      if (this.#end) return
      if (key === this.#key) return this.#fail(error)
      this.#key = key
      this.#again(error, 0)
    } catch {
      this.#fail(error)
    }
  }

  #again(reason: unknown, leastMs: number): void {
    this.#stop?.()
    if (this.#end) return
    if (Date.now() - this.#openedAt > steadyMs) this.#failures = 0
    const waitMs = Math.max(waitAfter(++this.#failures), leastMs)
    this.#server.onRetry(reason, waitMs)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (!this.#end) this.#open()
    }, waitMs)
  }

  #fail(error: unknown): void {
    this.#finish({ error })
  }

  readonly #abort = (): void => {
    this.#buffer.length = 0
    this.#finish({ error: abortReason(this.#options.signal!) })
  }

  /** Events in the buffer are still read; readers that wait are told at once. */
  #finish(end: { error?: unknown }): void {
    if (this.#end) return
    this.#end = end
    this.#stop?.()
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#options.signal?.removeEventListener('abort', this.#abort)
    const [first, ...others] = this.#waiting.splice(0)
    if (!first) return
    this.#end = {}
    if (end.error === undefined) first.resolve({ done: true, value: undefined })
    else first.reject(end.error)
    for (const other of others) other.resolve({ done: true, value: undefined })
  }
}
