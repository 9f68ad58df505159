/** The hub of one process: reads each growing stream once and hands the events to every subscriber's bounded ring. */
import type { Bell, Delta, Hint } from './bell.ts'
import type { Database } from '../db/database.ts'
import { newestSeqs, readFeed, readGeneration, type EventPage, type EventRow } from './log.ts'
import { isAfter, type Position } from './position.ts'

/** One stream of events: a generation's or a project's. */
export interface Source {
  key: string
  generationId: string | null
  read(after: Position, limit: number, types?: readonly string[] | null): Promise<EventPage>
  positionOf(event: EventRow): Position
}

export function generationSource(db: Database, generationId: string): Source {
  return {
    key: generationId,
    generationId,
    read: (after, limit) => readGeneration(db, generationId, after, limit),
    positionOf: (event) => ({ major: event.seq!, minor: 0 }),
  }
}

export function feedSource(db: Database, projectId: string): Source {
  return {
    key: projectId,
    generationId: null,
    read: (after, limit, types) => readFeed(db, projectId, after, limit, types),
    positionOf: (event) => ({ major: event.commitOrder, minor: event.id }),
  }
}

/** What lands in a ring: an event with the position before it (a gap shows), or an ephemeral delta. */
export type LiveItem = { event: EventRow; at: Position; previous: Position } | { delta: Delta }

/** Items that wait for one subscriber. When full, all are dropped and the subscriber goes back to the table. */
const ringSize = 256
const readSize = 200
/** How long to wait for a running transaction that may still precede what was read, in milliseconds. */
const settleMs = 10

/** A subscriber's side of the hub. Memory is bounded whatever the subscriber does. */
export class Sink {
  private ring: LiveItem[] = []
  private waiter: (() => void) | null = null
  /** Items were dropped, or a hint came that only the table can answer. */
  behind = false

  push(item: LiveItem): void {
    if (this.ring.length >= ringSize) {
      this.ring = []
      this.behind = true
    } else this.ring.push(item)
    this.wake()
  }

  look(): void {
    this.behind = true
    this.wake()
  }

  shift(): LiveItem | undefined {
    return this.ring.shift()
  }

  /** Resolves at the next push, look or wake; at once when something is there. */
  wait(): Promise<void> {
    if (this.ring.length > 0 || this.behind) return Promise.resolve()
    return new Promise((resolve) => (this.waiter = resolve))
  }

  wake(): void {
    const waiter = this.waiter
    this.waiter = null
    waiter?.()
  }
}

interface Topic {
  source: Source
  sinks: Set<Sink>
  /** Where the next read starts; null until a subscriber has reached the end of the table. */
  at: Position | null
  /** Between here and `at` there is no event: whoever has come this far has missed nothing. */
  handed: Position | null
  reading: boolean
  again: boolean
  deltas: Delta[]
}

export interface Live {
  attach(source: Source): Sink
  detach(source: Source, sink: Sink): void
  /** A subscriber has read the table to this place: the hub may go on from there. */
  caughtUp(source: Source, at: Position): void
  /** Streams with a subscriber, for tests and metrics. */
  topicCount(): number
  close(): void
}

/**
 * Starts the hub. `backstopMs` is how often it looks without being rung, one statement for all generations together:
 * with every hint lost an event is that late, never missing.
 */
export function startLive(db: Database, bell: Bell, backstopMs = 1000): Live {
  const topics = new Map<string, Topic>()
  const stop = bell.listen((hint) => onHint(topics, hint))
  const timer = setInterval(() => void backstop(db, topics), backstopMs)
  timer.unref()
  return {
    attach(source) {
      const topic = topics.get(source.key) ?? newTopic(source)
      topics.set(source.key, topic)
      const sink = new Sink()
      topic.sinks.add(sink)
      return sink
    },
    detach(source, sink) {
      const topic = topics.get(source.key)
      topic?.sinks.delete(sink)
      if (topic?.sinks.size === 0) topics.delete(source.key)
    },
    caughtUp(source, at) {
      const topic = topics.get(source.key)
      if (topic?.at === null) topic.at = topic.handed = at
    },
    topicCount: () => topics.size,
    close() {
      stop()
      clearInterval(timer)
      for (const topic of topics.values()) for (const sink of topic.sinks) sink.wake()
      topics.clear()
    },
  }
}

function newTopic(source: Source): Topic {
  return { source, sinks: new Set(), at: null, handed: null, reading: false, again: false, deltas: [] }
}

function onHint(topics: Map<string, Topic>, hint: Hint): void {
  if (hint.kind === 'news') {
    const generation = hint.generationId === null ? undefined : topics.get(hint.generationId)
    if (generation && !(generation.at && hint.seq !== null && hint.seq <= generation.at.major))
      void follow(generation)
    const project = topics.get(hint.projectId)
    if (project) void follow(project)
  } else if (hint.kind === 'delta') {
    const topic = topics.get(hint.generationId)
    if (!topic) return
    // A delta must not overtake the events before it, which a read may still be fetching.
    if (topic.reading) topic.deltas.push(hint)
    else for (const sink of topic.sinks) sink.push({ delta: hint })
  } else if (hint.kind === 'reconnected') {
    for (const topic of topics.values()) void follow(topic)
  }
}

/** Reads what is new and hands it round. One read at a time for each stream; news during a read causes another. */
async function follow(topic: Topic): Promise<void> {
  if (topic.at === null) {
    for (const sink of topic.sinks) sink.look()
    return
  }
  if (topic.reading) {
    topic.again = true
    return
  }
  topic.reading = true
  try {
    do {
      topic.again = false
      const page = await topic.source.read(topic.at, readSize)
      handRound(topic, page)
      if (page.more) topic.again = true
      else if (page.unsettled) setTimeout(() => void follow(topic), settleMs)
    } while (topic.again && topic.sinks.size > 0)
  } catch {
    // The database is away: the backstop, or the bell when it is back, makes the next try.
  } finally {
    topic.reading = false
    const deltas = topic.deltas
    topic.deltas = []
    for (const delta of deltas) for (const sink of topic.sinks) sink.push({ delta })
  }
}

function handRound(topic: Topic, page: EventPage): void {
  for (const event of page.events) {
    const at = topic.source.positionOf(event)
    for (const sink of topic.sinks) sink.push({ event, at, previous: topic.handed! })
    topic.handed = at
  }
  if (isAfter(page.end, topic.at!)) topic.at = page.end
}

const backstopBatch = 2000

async function backstop(db: Database, topics: Map<string, Topic>): Promise<void> {
  const all = [...topics.values()]
  for (const topic of all) if (topic.source.generationId === null || topic.at === null) void follow(topic)
  const generations = all.filter((topic) => topic.source.generationId !== null && topic.at !== null)
  for (let i = 0; i < generations.length; i += backstopBatch) {
    const batch = generations.slice(i, i + backstopBatch)
    const newest = await newestSeqs(
      db,
      batch.map((topic) => topic.source.key),
    ).catch(() => new Map<string, number>())
    for (const topic of batch) if ((newest.get(topic.source.key) ?? 0) > topic.at!.major) void follow(topic)
  }
}
