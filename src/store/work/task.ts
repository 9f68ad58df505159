/** The work of a process on claimed rows: their leases, their signals and their end. */
import { setTimeout as pause } from 'node:timers/promises'
import { onAbort, elapsedSince, momentNow, type Moment } from '../../core/time.ts'
import type { Lease, Leases } from './leases.ts'
import { LeaseLostError, type ClaimedRow } from './work.ts'

/** The reason of an abort after which the process keeps the row. */
export const interruption = 'interrupt'

/** Controls the work on a row. */
export interface WorkControl {
  signal: AbortSignal
  recheck: Recheck
  lease: Lease
  /**
   * A recheck or an interrupt of this row came while it was being claimed: what the claim has returned may be out of
   * date.
   */
  isOutdated: boolean
  /** Whether the process stops: the work finishes what is running and starts nothing new. */
  isDraining(): boolean
}

/** Asks the work to read its row again, without aborting anything. */
export interface Recheck {
  /** Resolves at the next request. */
  next(): Promise<void>
}

interface Task {
  held: ClaimedRow
  lease: Lease
  abort: AbortController
  recheck(): void
  done: Promise<void>
}

/** What the work on a row needs of its worker. */
export interface TaskOptions<Row extends ClaimedRow> {
  leases: Leases
  run(held: Row, control: WorkControl): Promise<void>
  onError(error: unknown, id: string): void
}

/** The rows in work of one table. */
export interface Tasks<Row extends ClaimedRow> {
  /** Starts the work on a row that was claimed by a statement that was sent at `since`. */
  start(held: Row, since: Moment): void
  /** The project of each row. */
  projects(): string[]
  recheck(id: string): void
  recheckAll(): void
  interrupt(id: string): void
  /** Waits at most `graceMs`, aborts what remains and returns its rows. */
  end(graceMs: number): Promise<ClaimedRow[]>
}

export interface TasksOf {
  isDraining(): boolean
  /** The work on a row has ended; `left` rows are still in work. */
  onEnd(left: number): void
}

export function createTasks<Row extends ClaimedRow>(
  options: TaskOptions<Row>,
  { isDraining, onEnd }: TasksOf,
): Tasks<Row> {
  const tasks = new Map<string, Task>()
  const signalled = recentSignals()
  return {
    start(held, since) {
      const task = runTask(options, held, since, signalled.cameAfter(held.id, since), isDraining)
      tasks.get(held.id)?.abort.abort()
      tasks.set(held.id, task)
      void task.done.then(() => {
        // The row may have been claimed again by this process before the old task has ended.
        if (tasks.get(held.id) === task) tasks.delete(held.id)
        onEnd(tasks.size)
      })
    },
    projects: () => [...tasks.values()].map((task) => task.held.projectId),
    recheck(id) {
      signalled.add(id)
      tasks.get(id)?.recheck()
    },
    recheckAll: () => tasks.forEach((task) => task.recheck()),
    interrupt(id) {
      signalled.add(id)
      tasks.get(id)?.abort.abort(interruption)
      tasks.get(id)?.recheck()
    },
    async end(graceMs) {
      await endTasks([...tasks.values()], graceMs)
      return abortTasks([...tasks.values()])
    },
  }
}

/** How long a signal is remembered, in milliseconds: longer than a claim takes, or its lease lasts. */
const rememberedMs = 60_000

/** Remembers which rows got a signal lately: the task of a row that is being claimed does not exist yet. */
function recentSignals() {
  const signals = new Map<string, Moment>()
  return {
    cameAfter(id: string, since: Moment): boolean {
      const at = signals.get(id)
      return at !== undefined && elapsedSince(at) <= elapsedSince(since)
    },
    add(id: string): void {
      signals.delete(id)
      signals.set(id, momentNow())
      for (const [oldest, at] of signals) {
        if (elapsedSince(at) < rememberedMs) break
        signals.delete(oldest)
      }
    },
  }
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
async function abortTasks(tasks: Task[]): Promise<ClaimedRow[]> {
  for (const task of tasks) task.abort.abort()
  await endTasks(tasks, unwindMs)
  for (const task of tasks) task.lease.end()
  return tasks.map((task) => task.held)
}

/** Starts the work on a row. */
function runTask<Row extends ClaimedRow>(
  { leases, run, onError }: TaskOptions<Row>,
  held: Row,
  since: Moment,
  isOutdated: boolean,
  isDraining: () => boolean,
): Task {
  const abort = new AbortController()
  const recheck = makeRecheck()
  const lease = leases.keep(held, since)
  const removeListener = onAbort(lease.signal, () => abort.abort())
  const done = run(held, { signal: abort.signal, recheck, lease, isOutdated, isDraining })
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
