/** Reads each growing stream once for a whole process and hands the events to every subscriber's bounded buffer. */
import type { Delta, PubSub, Hint } from '../pubsub/pubsub.ts'
import type { Position, EventPlace } from './position.ts'
import {
  type EventRow,
  movedFeeds,
  movedGenerations,
  positionInFeed,
  positionInGeneration,
  readFeed,
  readGeneration,
  type EventPage,
  type ReadProgress,
} from './read.ts'
import { silentLog, type Log } from '../../core/log.ts'
import type { Database } from '../db/database.ts'
import { lagOf, startNumbering, type Lag } from './numbering.ts'
import { startSchedule, type Schedule } from '../work/schedule.ts'

/** An event with the place before it, which shows a gap, or an ephemeral delta. */
export type LiveItem = { event: EventRow; at: Position; previous: number } | { delta: Delta }

/** Items that wait for one subscriber. When full, all are dropped and the subscriber goes back to the table. */
const bufferSize = 256

export class Subscriber {
  private buffer: LiveItem[] = []
  private waiter: (() => void) | null = null
  /** Items were dropped, or something happened that only the table shows: read it. */
  behind = false

  push(item: LiveItem): void {
    if (this.buffer.length >= bufferSize) {
      this.buffer = []
      this.behind = true
    } else this.buffer.push(item)
    this.wake()
  }

  fallBehind(): void {
    this.behind = true
    this.wake()
  }

  shift(): LiveItem | undefined {
    return this.buffer.shift()
  }

  /** Resolves at the next push, fallBehind or wake; at once when something is there. */
  wait(): Promise<void> {
    if (this.buffer.length > 0 || this.behind) return Promise.resolve()
    return new Promise((resolve) => (this.waiter = resolve))
  }

  wake(): void {
    const waiter = this.waiter
    this.waiter = null
    waiter?.()
  }
}

/** One stream of events: a generation's or a project's. */
export interface Source {
  key: string
  generationId: string | null
  read(after: Position, limit: number, types?: readonly string[] | null): Promise<EventPage>
  positionOf(event: EventPlace): Position
}

export function generationSource(db: Database, generationId: string): Source {
  return {
    key: generationId,
    generationId,
    read: (after, limit) => readGeneration(db, generationId, after, limit),
    positionOf: positionInGeneration,
  }
}

export function feedSource(db: Database, projectId: string): Source {
  return {
    key: projectId,
    generationId: null,
    read: (after, limit, types) => readFeed(db, projectId, after, limit, types),
    positionOf: positionInFeed,
  }
}

const readSize = 200

interface Topic {
  source: Source
  subscribers: Set<Subscriber>
  /** Where the next read starts; null until a subscriber has reached the end of the table. */
  at: Position | null
  /** There is no event between here and `at`: a subscriber at this place has missed nothing. */
  delivered: number
  reading: boolean
  again: boolean
  deltas: Delta[]
}

export interface EventBroadcaster {
  attach(source: Source): Subscriber
  detach(source: Source, subscriber: Subscriber): void
  /** A subscriber has read the table to this place: the broadcaster may go on from there. */
  caughtUp(source: Source, at: Position): void
  /** Streams with a subscriber, for tests and metrics. */
  topicCount(): number
  /** Committed events that have no place in their feed yet, in the whole installation. */
  lag(): Promise<Lag>
  close(): void
}

export interface BroadcasterOptions {
  /** Reports whether the log has grown. By default the broadcaster has a schedule of its own. */
  schedule?: Pick<Schedule, 'onPoll'>
  /** How often its own schedule polls, in milliseconds. */
  backstopMs?: number
  log?: Pick<Log, 'warn'>
}

/**
 * Starts the broadcaster, and with it the numbering of events in this process. With every hint lost an event is as late as the
 * next poll of the schedule, never missing. While the log does not grow, it sends no statement.
 */
export function startBroadcaster(
  db: Database,
  pubsub: PubSub,
  options: BroadcasterOptions = {},
): EventBroadcaster {
  const { log = silentLog } = options
  const topics = new Map<string, Topic>()
  const numbering = startNumbering(db, pubsub, log)
  const poll = backstop(db, topics)
  const stop = pubsub.subscribe((hint) => {
    onHint(topics, hint)
    if (hint.kind === 'news' && topics.has(hint.projectId)) numbering.poke(hint.generationId)
    if (hint.kind === 'reconnected') numbering.poke(null)
  })
  const own = options.schedule ? null : startSchedule(db, pubsub, { everyMs: options.backstopMs ?? 1000 })
  let polling = false
  const stopPolling = (options.schedule ?? own!).onPoll((state) => {
    if (polling) return
    polling = true
    void numbering
      .run(state)
      .then((newest) => poll.run(newest, state?.incarnation ?? null))
      .finally(() => (polling = false))
  })
  return {
    attach(source) {
      const topic = topics.get(source.key) ?? newTopic(source)
      topics.set(source.key, topic)
      const subscriber = new Subscriber()
      topic.subscribers.add(subscriber)
      poll.expectMore()
      // What was committed before anybody followed the feed may not have its position yet.
      if (source.generationId === null) numbering.poke(null)
      return subscriber
    },
    detach(source, subscriber) {
      const topic = topics.get(source.key)
      topic?.subscribers.delete(subscriber)
      if (topic?.subscribers.size === 0) topics.delete(source.key)
    },
    caughtUp(source, at) {
      const topic = topics.get(source.key)
      if (topic?.at !== null || !topic) return
      topic.at = at
      topic.delivered = at.at
    },
    topicCount: () => topics.size,
    lag: () => lagOf(db),
    close() {
      stop()
      numbering.close()
      stopPolling()
      own?.close()
      for (const topic of topics.values()) for (const subscriber of topic.subscribers) subscriber.wake()
      topics.clear()
    },
  }
}

function newTopic(source: Source): Topic {
  return { source, subscribers: new Set(), at: null, delivered: 0, reading: false, again: false, deltas: [] }
}

function onHint(topics: Map<string, Topic>, hint: Hint): void {
  if (hint.kind === 'news') {
    const generation = hint.generationId === null ? undefined : topics.get(hint.generationId)
    if (generation && !(generation.at && hint.seq !== null && hint.seq <= generation.at.at))
      void follow(generation)
  } else if (hint.kind === 'numbered') {
    const project = topics.get(hint.projectId)
    if (project && !(project.at && hint.position <= project.at.at)) void follow(project)
  } else if (hint.kind === 'delta') {
    const topic = topics.get(hint.generationId)
    if (!topic) return
    // A delta must not overtake the events before it, which a read may still be fetching.
    if (topic.reading) topic.deltas.push(hint)
    else for (const subscriber of topic.subscribers) subscriber.push({ delta: hint })
  } else if (hint.kind === 'reconnected') {
    for (const topic of topics.values()) void follow(topic)
  }
}

/** Reads what is new and broadcasts it. One read at a time for each stream; news during a read causes another. */
async function follow(topic: Topic): Promise<void> {
  if (topic.at === null) return rereadAll(topic)
  if (topic.reading) {
    topic.again = true
    return
  }
  topic.reading = true
  try {
    do {
      topic.again = false
      const page = await topic.source.read(topic.at, readSize)
      broadcast(topic, page)
      if (page.more) topic.again = true
    } while (topic.again && topic.subscribers.size > 0)
  } catch (error) {
    // Else the database is away: the backstop, or a hint of the pub/sub once it is back, causes the next try.
    if (isExpired(error)) {
      topic.at = null
      rereadAll(topic)
    }
  } finally {
    topic.reading = false
    const deltas = topic.deltas
    topic.deltas = []
    for (const delta of deltas) for (const subscriber of topic.subscribers) subscriber.push({ delta })
  }
}

/** Makes each subscriber read the table by itself: one whose own place is lost fails, the others go on. */
function rereadAll(topic: Topic): void {
  for (const subscriber of topic.subscribers) subscriber.fallBehind()
}

/** Whether a read failed because the event that it started after is not in the log any more. */
export function isExpired(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'CURSOR_EXPIRED'
}

function broadcast(topic: Topic, page: EventPage): void {
  for (const event of page.events) {
    const at = topic.source.positionOf(event)
    for (const subscriber of topic.subscribers) subscriber.push({ event, at, previous: topic.delivered })
    topic.delivered = at.at
  }
  topic.at = page.end
}

const backstopBatch = 2000

/**
 * Polls the streams that are followed here, given the newest position of all; null: unknown. When that has not moved
 * since a poll that found every stream complete, there is nothing to read: each new event has no position, or a higher
 * one.
 */
function backstop(db: Database, topics: Map<string, Topic>) {
  let quietAt: number | null = null
  let incarnation: string | null = null
  return {
    /** A stream was added, which may not be complete. */
    expectMore: () => void (quietAt = null),
    async run(newest: number | null, current: string | null): Promise<void> {
      if (current !== null && current !== incarnation) {
        // A stream that has lost events may be as long as before by now: each read proves its place.
        if (incarnation !== null) for (const topic of topics.values()) void follow(topic)
        incarnation = current
      }
      if (newest !== null && newest === quietAt) return
      quietAt = newest
      const all = [...topics.values()]
      const unknown = all.filter((topic) => topic.at === null)
      for (const topic of unknown) rereadAll(topic)
      const known = all.filter((topic) => topic.at !== null)
      const generations = known.filter((topic) => topic.source.generationId !== null)
      const feeds = known.filter((topic) => topic.source.generationId === null)
      const moved =
        (await followMoved(generations, (reached) => movedGenerations(db, reached))) +
        (await followMoved(feeds, (reached) => movedFeeds(db, reached)))
      if (moved + unknown.length > 0) quietAt = null
    },
  }
}

/** Follows those that have grown since they were read. Returns how many; all of them when the database did not say. */
async function followMoved(
  topics: Topic[],
  moved: (reached: ReadProgress[]) => Promise<string[]>,
): Promise<number> {
  let count = 0
  for (let i = 0; i < topics.length; i += backstopBatch) {
    const batch = topics.slice(i, i + backstopBatch)
    const byKey = new Map(batch.map((topic) => [topic.source.key, topic]))
    const reached = batch.map((topic) => ({ id: topic.source.key, at: topic.at?.at ?? 0 }))
    const keys = await moved(reached).catch(() => null)
    count += keys?.length ?? batch.length
    for (const key of keys ?? []) void follow(byKey.get(key)!)
  }
  return count
}
