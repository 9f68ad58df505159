/** Runs due rows of one table in this process: claims on the bell and on a sweep, keeps the leases, stops cleanly. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Bell } from '../events/bell.ts'
import type { Database } from '../db/database.ts'
import { heartbeat, release, LeaseLostError, type Held, type WorkTable } from './work.ts'

export interface WorkerOptions<Row extends Held> {
  db: Database
  bell: Bell
  table: WorkTable
  /** Rows worked on at once. */
  slots: number
  /** How long a row stays ours without a heartbeat, in milliseconds; must exceed the longest stall of the process. */
  leaseMs: number
  /** How often to look without being rung, in milliseconds. */
  sweepMs: number
  /** Takes at most so many due rows. */
  claim(limit: number): Promise<Row[]>
  /**
   * Works on one row. The signal fires when the row was lost or the process stops, and with the reason `interrupted`
   * when what is under way should be cut off but the row stays ours.
   */
  run(held: Row, reins: Reins): Promise<void>
  /** An error that `run` did not expect. The row is looked at again when its lease ends. */
  onError(error: unknown, id: string | null): void
}

/** The reason of an abort that does not end the work. */
export const interrupted = 'interrupt'

/** How the work on a row hears of the world. */
export interface Reins {
  signal: AbortSignal
  nudge: Nudge
}

/** Tells the work to look at its row again without cutting anything off. */
export interface Nudge {
  /** Resolves at the next nudge from now on. */
  next(): Promise<void>
}

export interface Worker {
  /** Tells the work on a row of this process, if it is here, to look again. */
  nudge(id: string): void
  /** Aborts the work on a row of this process, if it is here; the row stays ours. */
  interrupt(id: string): void
  /** Rows in hand. */
  busy(): number
  /** Stops claiming, lets the work end for `graceMs`, then gives the rest back. */
  stop(graceMs: number): Promise<void>
}

interface Task {
  held: Held
  abort: AbortController
  nudge(): void
  done: Promise<void>
}

export function startWorker<Row extends Held>(options: WorkerOptions<Row>): Worker {
  const { db, table, leaseMs } = options
  const tasks = new Map<string, Task>()
  let stopping = false
  let claiming = false
  let again = false

  const start = (held: Row) => {
    const abort = new AbortController()
    const bell = makeNudge()
    const done = options
      .run(held, { signal: abort.signal, nudge: bell })
      .catch((error: unknown) => {
        if (!(error instanceof LeaseLostError) && !abort.signal.aborted) options.onError(error, held.id)
      })
      .finally(() => {
        // A row can be back here with a new epoch before the old task has unwound.
        if (tasks.get(held.id)?.held === held) tasks.delete(held.id)
        if (again || tasks.size === options.slots - 1) void look()
      })
    tasks.get(held.id)?.abort.abort()
    tasks.set(held.id, { held, abort, done, nudge: bell.ring })
  }

  const look = async () => {
    again = true
    if (claiming || stopping) return
    claiming = true
    try {
      while (again && !stopping) {
        const free = options.slots - tasks.size
        if (free <= 0) return
        again = false
        const rows = await options.claim(free)
        rows.forEach(start)
        if (rows.length === free) again = true
      }
    } catch (error) {
      again = false
      options.onError(error, null)
    } finally {
      claiming = false
    }
  }

  const beat = async () => {
    const held = [...tasks.values()].map((task) => task.held)
    try {
      const kept = await heartbeat(db, table, leaseMs, held)
      for (const row of held) {
        const task = tasks.get(row.id)
        if (!kept.has(row.id) && task?.held === row) task.abort.abort()
      }
    } catch (error) {
      options.onError(error, null)
    }
  }

  const unlisten = options.bell.listen((hint) => {
    if ((hint.kind === 'work' && hint.table === table) || hint.kind === 'reconnected') void look()
  })
  const sweepTimer = setInterval(() => void look(), options.sweepMs)
  const beatTimer = setInterval(() => void beat(), leaseMs / 3)
  void look()

  return {
    interrupt(id) {
      tasks.get(id)?.abort.abort(interrupted)
      tasks.get(id)?.nudge()
    },
    nudge: (id) => tasks.get(id)?.nudge(),
    busy: () => tasks.size,
    async stop(graceMs) {
      stopping = true
      unlisten()
      clearInterval(sweepTimer)
      const all = [...tasks.values()]
      await Promise.race([
        Promise.all(all.map((task) => task.done)),
        pause(graceMs, undefined, { ref: false }),
      ])
      clearInterval(beatTimer)
      const rest = [...tasks.values()]
      for (const task of rest) task.abort.abort()
      await Promise.race([Promise.all(rest.map((task) => task.done)), pause(500, undefined, { ref: false })])
      await release(
        db,
        table,
        rest.map((task) => task.held),
      ).catch(() => {})
    },
  }
}

function makeNudge(): Nudge & { ring(): void } {
  let ring = () => {}
  let next = new Promise<void>((resolve) => (ring = resolve))
  return {
    next: () => next,
    ring() {
      ring()
      next = new Promise((resolve) => (ring = resolve))
    },
  }
}
