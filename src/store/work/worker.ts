/**
 * Runs the due rows of one table in this process: claims after hints and when rows are due, keeps the leases, stops cleanly.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { onAbort } from '../../core/abort.ts'
import type { PubSub } from '../events/pubsub.ts'
import { momentNow, type Moment } from '../../core/stopwatch.ts'
import type { Database } from '../db/database.ts'
import { allowanceOf } from './fairness.ts'
import type { Lease, Leases } from './leases.ts'
import type { Schedule } from './schedule.ts'
import { release, LeaseLostError, type Claimed, type ClaimLimits, type WorkTable } from './work.ts'

export interface WorkerOptions<Row extends Claimed> {
  db: Database
  pubsub: PubSub
  table: WorkTable
  /** The most rows in work, and an eighth more for projects with less than their share. */
  slots: number
  /** The leases of this table, shared with other holders in this process. */
  leases: Leases
  /** Reports when rows of the table are due. */
  schedule: Schedule
  /** Claims due rows. */
  claim(limits: ClaimLimits): Promise<Row[]>
  /**
   * Works on one row. The signal aborts when the lease is lost or the process stops, and with the reason `interrupted`
   * when the current step must be aborted but this process keeps the row.
   */
  run(held: Row, control: WorkControl): Promise<void>
  /** An error of `run` or, with id null, of a claim. The row is claimed again when its lease ends. */
  onError(error: unknown, id: string | null): void
}

/** The reason of an abort after which the process keeps the row. */
export const interrupted = 'interrupt'

/** Controls the work on a row. */
export interface WorkControl {
  signal: AbortSignal
  recheck: Recheck
  lease: Lease
  /** Whether the process stops: the work finishes what is running and starts nothing new. */
  isDraining(): boolean
}

/** Asks the work to read its row again, without aborting anything. */
export interface Recheck {
  /** Resolves at the next request. */
  next(): Promise<void>
}

export interface Worker {
  /** Asks the work on a row, if it is in this process, to read the row again. */
  recheck(id: string): void
  /** Aborts the current step of a row in this process, which keeps the row. */
  interrupt(id: string): void
  /** The number of rows in work. */
  busy(): number
  /** Claims no more rows; running work starts nothing new. */
  drain(): void
  /** Drains, waits at most `graceMs` for running work, then releases the remaining rows. */
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
  const { db, table } = options
  const tasks = new Map<string, Task>()
  let stopping = false
  let claiming = false
  let again = false

  const start = (held: Row, since: Moment) => {
    const task = runTask(options, held, since, () => stopping)
    tasks.get(held.id)?.abort.abort()
    tasks.set(held.id, task)
    void task.done.then(() => {
      // The row may have been claimed again by this process before the old task has ended.
      if (tasks.get(held.id) === task) tasks.delete(held.id)
      // Rows that were not claimed because all slots were in use can be claimed now.
      if (again || tasks.size >= options.slots - 1) void poll()
    })
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
        const { rows, since } = await claimRows(options, allowance)
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

  const stopPolling = keepPolling(options, () => void poll())

  const drain = () => {
    if (stopping) return
    stopping = true
    stopPolling()
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
      await endTasks([...tasks.values()], graceMs)
      const held = await abortTasks([...tasks.values()])
      await release(db, table, held).catch(() => {})
    },
  }
}

/** Polls now, after hints and when rows are due, until the returned function is called. */
function keepPolling(
  { pubsub, table, schedule }: Pick<WorkerOptions<Claimed>, 'pubsub' | 'table' | 'schedule'>,
  poll: () => void,
): () => void {
  const unsubscribe = pubsub.subscribe((hint) => {
    if ((hint.kind === 'work' && hint.table === table) || hint.kind === 'reconnected') poll()
  })
  const leave = schedule.onDue(table, poll)
  poll()
  return () => {
    unsubscribe()
    leave()
  }
}

/** Claims due rows, by a statement that was sent at `since`. */
async function claimRows<Row extends Claimed>(
  { leases, claim }: WorkerOptions<Row>,
  allowance: Omit<ClaimLimits, 'except'>,
): Promise<{ rows: Row[]; since: Moment }> {
  await leases.beatIfUnsure()
  const since = momentNow()
  return { rows: await claim({ ...allowance, except: leases.unsure() }), since }
}

/** How long aborted work may take to end, in milliseconds. */
const unwindMs = 500

/** Waits for the tasks to end, at most this long. */
async function endTasks(tasks: Task[], milliseconds: number): Promise<void> {
  await Promise.race([
    Promise.all(tasks.map((task) => task.done)),
    pause(milliseconds, undefined, { ref: false }),
  ])
}

/** Aborts the remaining tasks and ends their leases. Returns their rows. */
async function abortTasks(tasks: Task[]): Promise<Claimed[]> {
  for (const task of tasks) task.abort.abort()
  await endTasks(tasks, unwindMs)
  for (const task of tasks) task.lease.end()
  return tasks.map((task) => task.held)
}

/** Starts the work on a row. */
function runTask<Row extends Claimed>(
  { leases, run, onError }: WorkerOptions<Row>,
  held: Row,
  since: Moment,
  isDraining: () => boolean,
): Task {
  const abort = new AbortController()
  const recheck = makeRecheck()
  const lease = leases.keep(held, since)
  const removeListener = onAbort(lease.signal, () => abort.abort())
  const done = run(held, { signal: abort.signal, recheck, lease, isDraining })
    .catch((error: unknown) => {
      if (!(error instanceof LeaseLostError) && !abort.signal.aborted) onError(error, held.id)
    })
    .finally(() => {
      removeListener()
      lease.end()
    })
  return { held, lease, abort, done, recheck: recheck.fire }
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
