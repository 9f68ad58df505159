/**
 * When rows are due, and whether the event log has grown: one statement at intervals for all that wait in this process.
 * It is the backstop of every hint, and between two polls each table has a timer for its next known due row. See
 * docs/decisions/0024.
 */
import { elapsedSince, momentNow, type Moment } from '../../core/time.ts'
import { query, type Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { newestPositionOfAll } from '../db/incarnation.ts'
import type { PubSub } from '../pubsub/pubsub.ts'
import type { WorkTable } from '../db/tables/columns.ts'

/** Whether rows may have changed since they were read. */
export interface Changes {
  /** False when no statement has run since the last read, and the clocks agree. */
  any(): boolean
  /** Call it before a read of one statement, and the returned function when the read has succeeded. */
  begin(): () => void
}

/** The wall clock and the monotonic clock may differ by so much more than at the last read, in milliseconds. */
const clockStepMs = 100

/**
 * `statementCount` counts the statements sent to a database to which only this process writes; null: anyone may
 * write, at any time. A step of the clock, or a suspended machine, counts as a change: what is due depends on it.
 */
export function watchChanges(statementCount: (() => number) | null): Changes {
  const clockOffset = () => Date.now() - performance.now()
  let seen = -1
  let offset = clockOffset()
  return {
    any: () =>
      statementCount === null || statementCount() !== seen || Math.abs(clockOffset() - offset) > clockStepMs,
    begin() {
      // The read is a statement too. Those sent while it runs may have run after it.
      const before = statementCount?.() ?? 0
      const offsetBefore = clockOffset()
      return () => {
        seen = before + 1
        offset = offsetBefore
      }
    },
  }
}

/** The tables with a column wake_at. */
export type WakeTable = WorkTable | 'approvals'

/** The event log of the installation. */
export interface LogState {
  /** Whether committed events have no position yet. */
  unnumbered: boolean
  /** The newest position. */
  newest: number
  /** The incarnation of the log: another one may have lost events. */
  incarnation: string | null
}

export interface Schedule {
  /**
   * Calls back when rows of the table are due, soon after the first of them is, and again about five times a second
   * while one stays due. Also when rows cannot be read in time, at every interval. Returns the function that ends it.
   */
  onDue(table: WakeTable, act: () => void): () => void
  /** Calls back after each poll, with null when the rows could not be read. Returns the function that ends it. */
  onPoll(act: (log: LogState | null) => void): () => void
  close(): void
}

export interface ScheduleOptions {
  /**
   * Time between two polls, in milliseconds; twice as long while nothing happens. A row that another program wrote is
   * found within this time.
   */
  everyMs?: number
  /**
   * The number of statements sent so far, when no other process can write: while it does not change, nothing is read.
   * Null or absent when other processes write too.
   */
  statementCount?: (() => number) | null
}

const defaultEveryMs = 1000
/** The pause between a hint and the poll that reads what it was about, in milliseconds: one poll for many hints. */
const afterHintMs = 200
/** The longest time that a timer takes, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1

const tables: WakeTable[] = [
  'generations',
  'tool_calls',
  'upstreams',
  'approvals',
  'webhook_cursors',
  'slack_integrations',
  'triggers',
  'retentions',
]

interface Poll extends LogState {
  /** Milliseconds until the first row of each table is due, by the clock of the database; null when there is none. */
  dueIn: Record<WakeTable, number | null>
}

/** By the indexes of wake_at and of positions: a few pages, however many rows there are. */
const pollStatement = sql`select
    jsonb_build_object(${sql.join(
      tables.map((table) =>
        sql.raw(`'${table}', (
        select extract(epoch from min(wake_at) - clock_timestamp()) * 1000
        from ${table}
        where wake_at is not null${table === 'approvals' ? ` and status = 'PENDING'` : ''}
      )`),
      ),
      sql.raw(',\n      '),
    )}) as "dueIn",
    exists (select from events where position is null) as unnumbered,
    ${newestPositionOfAll}::float8 as newest,
    (select incarnation from installation) as incarnation`

/** Starts polling `db`, which should not be the pool that requests use. It never throws. */
export function startSchedule(db: Database, pubsub: PubSub, options: ScheduleOptions = {}): Schedule {
  const { everyMs = defaultEveryMs, statementCount = null } = options
  const timers = createTimers(() => pollSoon())
  const listeners = new Set<(log: LogState | null) => void>()
  const tell = (log: LogState | null) => listeners.forEach((act) => act(log))
  const reader = createReader(db, statementCount)
  const quiet = createQuiet()
  let soon: NodeJS.Timeout | null = null
  let closed = false

  const poll = async () => {
    const found = await reader.read()
    if (closed || found === 'busy') return
    quiet.note(found)
    if (found) timers.set(found.dueIn)
    tell(found)
    if (reader.isBehind()) pollSoon()
  }
  const pollSoon = () => {
    if (closed || !timers.isUsed()) return
    soon ??= setTimeout(() => {
      soon = null
      void poll()
    }, afterHintMs).unref()
  }
  const tick = () => {
    // A statement that hangs, or a table that is locked, must not keep the other tables from their work.
    const hangs = reader.flightMs() >= everyMs
    if (hangs || reader.hasFailed()) timers.fireAll()
    if (hangs) tell(null)
    if (reader.mayDiffer() && !quiet.skips()) void poll()
  }
  const timer = setInterval(tick, everyMs).unref()
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind === 'work' || hint.kind === 'news' || hint.kind === 'reconnected') pollSoon()
  })
  return {
    onDue(table, act) {
      const leave = timers.add(table, act)
      pollSoon()
      return leave
    },
    onPoll(act) {
      listeners.add(act)
      return () => void listeners.delete(act)
    },
    close() {
      closed = true
      unsubscribe()
      clearInterval(timer)
      if (soon) clearTimeout(soon)
      timers.clear()
    },
  }
}

/** After so many polls that found nothing new, every second one is left out. */
const quietAfter = 10

/** Whether anything happens in the installation. */
function createQuiet() {
  let newest = -1
  let polls = 0
  let skipped = false
  return {
    note(found: Poll | null) {
      const isDue = found !== null && Object.values(found.dueIn).some((ms) => ms !== null && ms <= 0)
      polls = !found || found.unnumbered || isDue || found.newest !== newest ? 0 : polls + 1
      newest = found?.newest ?? -1
    },
    /** Whether the poll of this moment is left out: never two in a row. */
    skips: () => (skipped = polls >= quietAfter && !skipped),
  }
}

/** Reads with the statement of a poll, one at a time. */
function createReader(db: Database, statementCount: (() => number) | null) {
  const changes = watchChanges(statementCount)
  let sentAt: Moment | null = null
  let failed = false
  let behind = false
  return {
    /** Null when the rows could not be read; `busy` while another read is in flight. */
    async read(): Promise<Poll | null | 'busy'> {
      behind = sentAt !== null
      if (behind) return 'busy'
      sentAt = momentNow()
      const seen = changes.begin()
      const rows = await query<Poll>(db, pollStatement).catch(() => [])
      sentAt = null
      failed = rows.length === 0
      if (!failed) seen()
      return rows[0] ?? null
    },
    /** Whether another read was asked for while the last one was in flight. */
    isBehind: () => behind,
    hasFailed: () => failed,
    /** Whether a read could find something else than the last one. */
    mayDiffer: () => failed || changes.any(),
    /** How long the read in flight has taken, in milliseconds; 0 without one. */
    flightMs: () => (sentAt ? elapsedSince(sentAt) : 0),
  }
}

/** The callbacks and timers of the tables. `fired` is called after a table's callbacks: its next due row is unknown. */
function createTimers(fired: () => void) {
  const acts = new Map<WakeTable, Set<() => void>>()
  const timers = new Map<WakeTable, NodeJS.Timeout>()
  const fire = (table: WakeTable) => {
    acts.get(table)?.forEach((act) => act())
    fired()
  }
  const cancel = (table: WakeTable) => {
    clearTimeout(timers.get(table))
    timers.delete(table)
  }
  return {
    isUsed: () => acts.size > 0,
    add(table: WakeTable, act: () => void) {
      const all = acts.get(table) ?? new Set()
      acts.set(table, all.add(act))
      return () => {
        all.delete(act)
        if (all.size > 0 || acts.get(table) !== all) return
        acts.delete(table)
        cancel(table)
      }
    },
    set(dueIn: Poll['dueIn']) {
      for (const table of acts.keys()) {
        const ms = dueIn[table]
        cancel(table)
        if (ms === null) continue
        if (ms <= 0) fire(table)
        // A timer may fire a millisecond early.
        else timers.set(table, setTimeout(fire, Math.min(Math.ceil(ms) + 1, longestTimerMs), table).unref())
      }
    },
    fireAll: () => [...acts.keys()].forEach(fire),
    clear: () => [...timers.keys()].forEach(cancel),
  }
}
