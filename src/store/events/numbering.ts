/**
 * Assigns committed events their positions, the order of every project's feed. A position is data: it is assigned
 * after the commit, under one lock for the installation, so no transaction that is still running (or prepared and
 * forgotten, or rolled back by a crash) can delay a position or be inserted below one.
 */
import type { Log } from '../../core/log.ts'
import { query, type Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { LogState } from '../work/schedule.ts'
import type { PubSub } from '../pubsub/pubsub.ts'

/** Events that one statement numbers (the function number_waiting_events of the migrations). */
const batch = 2000
/**
 * The time between two statements of a process while commits come quickly, in milliseconds, so that one numbers several of
 * them. Commits of a few generations are numbered at once.
 */
const gapMs = 5
/** While another process numbers: the first pause, and the longest one. */
const busyMs = { first: gapMs, longest: 500 }
/** An unnumbered event may be this old before the log warns, and the shortest time between two warnings. */
const lateMs = 5000
const warnEveryMs = 60_000
/** The lag is counted up to here. */
const mostCounted = 10_000

interface Numbered {
  /** Another session numbers; nothing was done. */
  busy: boolean
  count: number
  /** The newest position of each project that got some. */
  projects: Record<string, number>
  /** The newest position of all. */
  newest: number
}

/**
 * One statement. With `waits` it waits for another session that numbers, at most two seconds; else it returns `busy`.
 */
async function numberEvents(db: Database, waits: boolean): Promise<Numbered> {
  const rows = await query<{ done: Numbered }>(
    db,
    sql`select number_waiting_events(${waits}::boolean, ${batch}::int) as done`,
  )
  return rows[0]!.done
}

/**
 * Numbers everything that was committed before this call. Resolves with the newest position: everything committed
 * before has this one or a smaller one. Publishes the same hints as any other numbering.
 */
export async function numberAll(db: Database, pubsub: PubSub): Promise<number> {
  for (;;) {
    const done = await numberEvents(db, true)
    publish(pubsub, done)
    if (done.count < batch) return done.newest
  }
}

function publish(pubsub: PubSub, { projects }: Numbered): void {
  const hints = Object.entries(projects).map(
    ([projectId, position]) => ({ kind: 'numbered', projectId, position }) as const,
  )
  if (hints.length > 0) pubsub.publish(hints)
}

/** Committed events without a position. */
export interface Lag {
  /** How many, counted up to 10,000. */
  events: number
  /** The age of the oldest one, 0 when there is none. */
  seconds: number
}

/** One statement. An event's age counts from the beginning of its transaction. */
export async function lagOf(db: Database): Promise<Lag> {
  const rows = await query<Lag>(
    db,
    sql`select count(*)::int as events,
        coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as seconds
      from (
        select created_at
        from events
        where position is null
        order by id
        limit ${mostCounted}
      ) as waiting`,
  )
  return rows[0]!
}

export interface Numbering {
  /** Numbers what was committed, of this generation or of none, soon and in the background. */
  poke(generationId: string | null): void
  /**
   * Numbers now what a poll has found, or what there may be when it has failed (null). Resolves with the newest
   * position, null when the database gave none.
   */
  run(log: LogState | null): Promise<number | null>
  close(): void
}

/** The numbering of one process. It never throws; while the database is away nothing happens until the next call. */
export function startNumbering(db: Database, pubsub: PubSub, log: Pick<Log, 'warn'>): Numbering {
  let running: Promise<number | null> | null = null
  let timer: NodeJS.Timeout | null = null
  let again = false
  const pace = startPace()
  let busyPause = busyMs.first
  let closed = false
  const watch = watchLag(db, log)

  const number = async (): Promise<number | null> => {
    again = false
    try {
      const done = await numberEvents(db, false)
      publish(pubsub, done)
      // The session that numbers now may have begun before our commit.
      if (done.busy || done.count === batch) again = true
      busyPause = done.busy ? Math.min(busyPause * 2, busyMs.longest) : busyMs.first
      if (!again) watch.current()
      return done.newest
    } catch (error) {
      watch.failed(error)
      return null
    }
  }
  const run = () => {
    if (closed) return Promise.resolve(null)
    return (running ??= number().finally(() => {
      running = null
      pace.ended()
      if (again) later(busyPause === busyMs.first ? pace.waitMs() : busyPause)
    }))
  }
  const later = (milliseconds: number) => {
    if (timer || closed) return
    timer = setTimeout(() => {
      timer = null
      void run()
    }, milliseconds)
  }
  return {
    poke(generationId) {
      again = true
      pace.commit(generationId)
      if (running) return
      if (pace.waitMs() > 0) later(pace.waitMs())
      else if (!timer) void run()
    },
    async run(state) {
      if (state && !state.unnumbered) {
        watch.current()
        return state.newest
      }
      const newest = await run()
      await watch.check()
      return newest
    },
    close() {
      closed = true
      if (timer) clearTimeout(timer)
    },
  }
}

/** How many generations may commit within the gap before their commits wait for each other. */
const fewGenerations = 2

/** Tells the commits of a few generations from those of many at once. */
function startPace() {
  let recent: { generationId: string | null; at: number }[] = []
  let endedAt = -Infinity
  const isQuick = () => new Set(recent.map((one) => one.generationId)).size > fewGenerations
  return {
    /** A statement has ended. */
    ended: () => void (endedAt = performance.now()),
    commit(generationId: string | null) {
      const at = performance.now()
      recent = [...recent.filter((one) => at - one.at < gapMs).slice(-31), { generationId, at }]
    },
    /** How long the next statement waits for further commits, in milliseconds: not for those of a few generations. */
    waitMs: () => (isQuick() ? Math.max(0, endedAt + gapMs - performance.now()) : 0),
  }
}

/** Warns when events stay without a position. */
function watchLag(db: Database, log: Pick<Log, 'warn'>) {
  let currentAt = performance.now()
  let warnedAt = -Infinity
  let reason: unknown
  return {
    /** Everything has its position now. */
    current() {
      currentAt = performance.now()
      reason = undefined
    },
    failed(error: unknown) {
      reason = error
    },
    async check() {
      const now = performance.now()
      if (now - currentAt < lateMs || now - warnedAt < warnEveryMs) return
      const lag = await lagOf(db).catch(() => null)
      if (lag && lag.seconds * 1000 < lateMs) return
      warnedAt = now
      log.warn({ err: reason, lag }, 'events wait for their position in the feed of their projects')
    },
  }
}
