/** Runs due rows of one table in this process: claims after hints and on a sweep, keeps the leases, stops cleanly. */
import { setTimeout as pause } from 'node:timers/promises'
import { onAbort } from '../../core/abort.ts'
import type { PubSub } from '../events/pubsub.ts'
import { momentNow, type Moment } from '../../core/stopwatch.ts'
import type { Database } from '../db/database.ts'
import { allowanceOf } from './fairness.ts'
import type { Lease, Leases } from './leases.ts'
import { release, LeaseLostError, type Claimed, type ClaimLimits, type WorkTable } from './work.ts'

export interface WorkerOptions<Row extends Claimed> {
  db: Database
  pubsub: PubSub
  table: WorkTable
  /** Rows worked on at once, and an eighth more for projects that have less than their share of them. */
  slots: number
  /** The leases of that table, which others of this process may share. */
  leases: Leases
  /** How often to poll without a hint, in milliseconds. */
  sweepMs: number
  /** Takes due rows. */
  claim(limits: ClaimLimits): Promise<Row[]>
  /**
   * Works on one row. The signal fires when the row was lost or the process stops, and with the reason `interrupted`
   * when what is under way should be cut off but the row stays ours.
   */
  run(held: Row, control: WorkControl): Promise<void>
  /** An error that `run` did not expect. The row is claimed again when its lease ends. */
  onError(error: unknown, id: string | null): void
}

/** The reason of an abort that does not end the work. */
export const interrupted = 'interrupt'

/** What the work on a row is controlled by. */
export interface WorkControl {
  signal: AbortSignal
  recheck: Recheck
  lease: Lease
  /** Whether the process stops: what was begun is ended, and nothing new is begun. */
  isDraining(): boolean
}

/** Asks the work to read its row again without cutting anything off. */
export interface Recheck {
  /** Resolves at the next request from now on. */
  next(): Promise<void>
}

export interface Worker {
  /** Asks the work on a row, if it is in this process, to read the row again. */
  recheck(id: string): void
  /** Aborts the work on a row, if it is in this process; the row stays ours. */
  interrupt(id: string): void
  /** Rows that are being worked on. */
  busy(): number
  /** Claims nothing more; the work begins nothing new. */
  drain(): void
  /** Drains, lets the work end for `graceMs`, then gives the rest back. */
  stop(graceMs: number): Promise<void>
}

interface Task {
  held: Claimed
  lease: Lease
  abort: AbortController
  recheck(): void
  done: Promise<void>
}

export function startWorker<Row extends Claimed>(options: WorkerOptions<Row>): Worker {
  const { db, table, leases } = options
  const tasks = new Map<string, Task>()
  let stopping = false
  let claiming = false
  let again = false

  const start = (held: Row, since: Moment) => {
    const abort = new AbortController()
    const recheck = makeRecheck()
    const lease = leases.keep(held, since)
    const forget = onAbort(lease.signal, () => abort.abort())
    const done = options
      .run(held, { signal: abort.signal, recheck, lease, isDraining: () => stopping })
      .catch((error: unknown) => {
        if (!(error instanceof LeaseLostError) && !abort.signal.aborted) options.onError(error, held.id)
      })
      .finally(() => {
        forget()
        lease.end()
        // A row can be back here with a new epoch before the old task has unwound.
        if (tasks.get(held.id)?.held === held) tasks.delete(held.id)
        // What was left because all slots were taken may be taken now.
        if (again || tasks.size >= options.slots - 1) void poll()
      })
    tasks.get(held.id)?.abort.abort()
    tasks.set(held.id, { held, lease, abort, done, recheck: recheck.fire })
  }

  const poll = async () => {
    again = true
    if (claiming || stopping) return
    claiming = true
    try {
      while (again && !stopping) {
        const held = [...tasks.values()].map((task) => task.held.projectId)
        const allowance = allowanceOf(options.slots, held)
        if (!allowance) return
        again = false
        await leases.beatIfUnsure()
        const since = momentNow()
        const rows = await options.claim({ ...allowance, except: leases.unsure() })
        for (const row of rows) start(row, since)
        if (rows.length === allowance.limit) again = true
      }
    } catch (error) {
      again = false
      options.onError(error, null)
    } finally {
      claiming = false
    }
  }

  const unsubscribe = options.pubsub.subscribe((hint) => {
    if ((hint.kind === 'work' && hint.table === table) || hint.kind === 'reconnected') void poll()
  })
  const sweepTimer = setInterval(() => void poll(), options.sweepMs)
  void poll()

  const drain = () => {
    if (stopping) return
    stopping = true
    unsubscribe()
    clearInterval(sweepTimer)
    // Work that waits for a person or a model must notice that the process stops.
    for (const task of tasks.values()) task.recheck()
  }

  return {
    interrupt(id) {
      tasks.get(id)?.abort.abort(interrupted)
      tasks.get(id)?.recheck()
    },
    recheck: (id) => tasks.get(id)?.recheck(),
    busy: () => tasks.size,
    drain,
    async stop(graceMs) {
      drain()
      const all = [...tasks.values()]
      await Promise.race([
        Promise.all(all.map((task) => task.done)),
        pause(graceMs, undefined, { ref: false }),
      ])
      const rest = [...tasks.values()]
      for (const task of rest) task.abort.abort()
      await Promise.race([Promise.all(rest.map((task) => task.done)), pause(500, undefined, { ref: false })])
      for (const task of rest) task.lease.end()
      await release(
        db,
        table,
        rest.map((task) => task.held),
      ).catch(() => {})
    },
  }
}

function makeRecheck(): Recheck & { fire(): void } {
  let resolveNext = () => {}
  let next = new Promise<void>((resolve) => (resolveNext = resolve))
  return {
    next: () => next,
    fire() {
      resolveNext()
      next = new Promise((resolve) => (resolveNext = resolve))
    },
  }
}
