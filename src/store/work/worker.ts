/**
 * Runs the due rows of one table in this process: claims after hints and when rows are due, in slots that are fair to
 * projects, keeps the leases, stops cleanly.
 */
import type { WorkTable } from '../db/tables/columns.ts'
import { type ClaimedRow, type HeldRow, postpone, release, type ClaimLimits } from './work.ts'
import type { PubSub } from '../pubsub/pubsub.ts'
import { momentNow, type Moment } from '../../core/time.ts'
import type { Database } from '../db/database.ts'
import { isRefused } from '../db/storage-error.ts'
import { type Leases, whenAnswered } from './leases.ts'
import type { Schedule } from './schedule.ts'
import { createTasks, type Tasks, type WorkControl } from './task.ts'
export { interruption, type Recheck, type WorkControl } from './task.ts'

/** What one claim may take. */
interface Allowance {
  limit: number
  /** Projects that have their share already: their rows are not claimed. */
  crowded: string[]
}

/** One spare slot for this many slots, for projects with less than their share. */
const slotsPerSpare = 8

/**
 * How many rows the next claim may take. A project may use any free slot. When all are used, there is an eighth more
 * (at least one), given one by one to projects with less than an equal share: a project without rows in work never
 * waits for the whole queue of another, and a single project can use every slot. `held` is the project of each row in
 * work. Null when nothing may be claimed.
 */
export function allowanceOf(slots: number, held: readonly string[]): Allowance | null {
  if (held.length < slots) return { limit: slots - held.length, crowded: [] }
  if (held.length >= slots + Math.max(1, Math.floor(slots / slotsPerSpare))) return null
  const counts = new Map<string, number>()
  for (const project of held) counts.set(project, (counts.get(project) ?? 0) + 1)
  const share = slots / (counts.size + 1)
  return { limit: 1, crowded: [...counts].filter(([, count]) => count >= share).map(([project]) => project) }
}

/** A slot that is kept for one row. Exactly one of its functions is called, once. */
export interface Slot {
  /** Starts the work on the row, which was claimed by a statement that was sent after the slot was taken. */
  run(row: ClaimedRow): void
  /** Gives the slot back: the row was not claimed. */
  free(): void
  /**
   * Gives the slot back when nobody knows whether the row was claimed, because the statement failed. If it was, the row is
   * released as soon as the database responds; else its lease ends by itself.
   */
  giveBack(row: HeldRow): void
}

/** Takes a slot for a row of this project, or null when there is none for it now. */
type TakeSlot = (projectId: string) => Slot | null

export interface Slots {
  /** Null when this process has no worker of the table, the worker stops, or it has no slot for the project. */
  take(table: WorkTable, projectId: string): Slot | null
  /** Whether this process has workers. */
  hasWorkers(): boolean
  /** Registers the worker of a table. Returns the function that removes it. */
  offer(table: WorkTable, take: TakeSlot): () => void
}

export function createSlots(): Slots {
  const workers = new Map<WorkTable, TakeSlot>()
  return {
    take: (table, projectId) => workers.get(table)?.(projectId) ?? null,
    hasWorkers: () => workers.size > 0,
    offer(table, take) {
      workers.set(table, take)
      return () => {
        if (workers.get(table) === take) workers.delete(table)
      }
    },
  }
}

export interface WorkerOptions<Row extends ClaimedRow> {
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
   * Works on one row. The signal aborts when the lease is lost or the process stops, and with the reason `interruption`
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

export function startWorker<Row extends ClaimedRow>(options: WorkerOptions<Row>): Worker {
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
function postponing<Row extends ClaimedRow>(options: WorkerOptions<Row>): WorkerOptions<Row> {
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
function takenSlots<Row extends ClaimedRow>(
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
  { pubsub, table, schedule, freeSlots }: Omit<WorkerOptions<ClaimedRow>, 'claim' | 'run'>,
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
async function claimRows<Row extends ClaimedRow>(
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
