/**
 * Runs the due rows of one table in this process: claims after hints and when rows are due, keeps the leases, stops cleanly.
 */
import type { PubSub } from '../pubsub/pubsub.ts'
import { momentNow, type Moment } from '../../core/stopwatch.ts'
import type { Database } from '../db/database.ts'
import { isRefused } from '../db/storage-error.ts'
import { allowanceOf, type Allowance } from './fairness.ts'
import type { Leases } from './leases.ts'
import { whenAnswered } from './read-back.ts'
import type { Schedule } from './schedule.ts'
import type { Slots, TakeSlot } from './slots.ts'
import { createTasks, type Tasks, type WorkControl } from './task.ts'
import { postpone, release, type Claimed, type ClaimLimits } from './work.ts'
import type { WorkTable } from '../db/tables/columns.ts'

export { interrupted, type Recheck, type WorkControl } from './task.ts'

export interface WorkerOptions<Row extends Claimed> {
  db: Database
  pubsub: PubSub
  table: WorkTable
  /** The most rows in work, and an eighth more for projects with less than their share. */
  slots: number
  /** The leases of this table, shared with other holders in this process. */
  leases: Leases
  /** Where operations of this process take free slots of this worker. */
  freeSlots?: Slots
  /** Reports when rows of the table are due. */
  schedule: Schedule
  /** Claims due rows. */
  claim(limits: ClaimLimits): Promise<Row[]>
  /**
   * Works on one row. The signal aborts when the lease is lost or the process stops, and with the reason `interrupted`
   * when the current step must be aborted but this process keeps the row.
   */
  run(held: Row, control: WorkControl): Promise<void>
  /**
   * An error of `run` or, with id null, of a claim. The row is claimed again when its lease ends; after what the database
   * refuses, and would refuse again, some minutes later.
   */
  onError(error: unknown, id: string | null): void
}

export interface Worker {
  /** Asks the work on a row, if it is in this process, to read the row again. */
  recheck(id: string): void
  /** Aborts the current step of a row in this process, which keeps the row. */
  interrupt(id: string): void
  /** Claims now: rows may be due of which the schedule does not know. */
  poll(): void
  /** The number of rows in work. */
  busy(): number
  /** Claims no more rows; running work starts nothing new. */
  drain(): void
  /** Drains, waits at most `graceMs` for running work, then releases the remaining rows. */
  stop(graceMs: number): Promise<void>
}

export function startWorker<Row extends Claimed>(options: WorkerOptions<Row>): Worker {
  const { db, table } = options
  let stopping = false
  let claiming = false
  let again = false
  const taken: TakenSlots = takenSlots<Row>(options, {
    allowance: () => (stopping || (again && !claiming) ? null : allowance()),
    start: (row, since) => tasks.start(row, since),
    done: () => void (again && poll()),
  })
  const tasks = createTasks(postponing(options), {
    isDraining: () => stopping,
    // Rows that were not claimed because all slots were in use can be claimed now.
    onEnd: (left) => void ((again || left >= options.slots - 1) && poll()),
  })
  const allowance = (): Allowance | null => {
    return allowanceOf(options.slots, [...tasks.projects(), ...taken.projects()])
  }
  const poll = async () => {
    again = true
    if (claiming || stopping) return
    claiming = true
    try {
      while (again && !stopping) {
        const allowed = allowance()
        if (!allowed) return
        again = false
        const rows = await claimRows(options, allowed, tasks)
        if (rows.length === allowed.limit) again = true
      }
    } catch (error) {
      again = false
      options.onError(error, null)
    } finally {
      claiming = false
    }
  }

  const stopPolling = keepPolling(options, taken.take, () => void poll())
  const drain = () => {
    if (stopping) return
    stopping = true
    stopPolling()
    // Work that waits for a person or a model must notice that the process stops.
    tasks.recheckAll()
  }

  return {
    interrupt: tasks.interrupt,
    recheck: tasks.recheck,
    poll: () => void poll(),
    busy: () => tasks.projects().length,
    drain,
    async stop(graceMs) {
      drain()
      await release(db, table, await tasks.end(graceMs)).catch(() => {})
    },
  }
}

/** The same work; a row of which the database refuses something waits for some minutes. */
function postponing<Row extends Claimed>(options: WorkerOptions<Row>): WorkerOptions<Row> {
  const { db, table } = options
  return {
    ...options,
    run: (held, control) =>
      options.run(held, control).catch(async (error: unknown) => {
        if (isRefused(error)) await postpone(db, table, held).catch(() => {})
        throw error
      }),
  }
}

/** How long a row is tried to be given back, in milliseconds. */
const giveBackMs = 5000

interface TakenSlots {
  /** The project of each. */
  projects(): string[]
  take: TakeSlot
}

/** The slots that were taken and have no row yet. `allowance` is null when no slot may be taken. */
function takenSlots<Row extends Claimed>(
  { db, table }: WorkerOptions<Row>,
  worker: { allowance(): Allowance | null; start(row: Row, since: Moment): void; done(): void },
): TakenSlots {
  const taken = new Set<{ projectId: string }>()
  return {
    projects: () => [...taken].map(({ projectId }) => projectId),
    take(projectId) {
      const allowed = worker.allowance()
      if (!allowed || allowed.crowded.includes(projectId)) return null
      const since = momentNow()
      const one = { projectId }
      taken.add(one)
      const done = () => {
        taken.delete(one)
        worker.done()
      }
      return {
        run(row) {
          worker.start(row as Row, since)
          done()
        },
        free: done,
        giveBack(row) {
          done()
          void whenAnswered(() => release(db, table, [row]), giveBackMs).then(worker.done, () => {})
        },
      }
    },
  }
}

/** Offers free slots, and polls now, after hints and when rows are due, until the returned function is called. */
function keepPolling(
  { pubsub, table, schedule, freeSlots }: Omit<WorkerOptions<Claimed>, 'claim' | 'run'>,
  take: TakeSlot,
  poll: () => void,
): () => void {
  const unsubscribe = pubsub.subscribe((hint) => {
    if ((hint.kind === 'work' && hint.table === table) || hint.kind === 'reconnected') poll()
  })
  const leave = schedule.onDue(table, poll)
  const withdraw = freeSlots?.offer(table, take)
  poll()
  return () => {
    withdraw?.()
    unsubscribe()
    leave()
  }
}

/** Claims due rows and starts the work on them. */
async function claimRows<Row extends Claimed>(
  { leases, claim }: WorkerOptions<Row>,
  allowance: Omit<ClaimLimits, 'except'>,
  tasks: Tasks<Row>,
): Promise<Row[]> {
  await leases.beatIfUnsure()
  const since = momentNow()
  const rows = await claim({ ...allowance, except: leases.unsure() })
  for (const row of rows) tasks.start(row, since)
  return rows
}
