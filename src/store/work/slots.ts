/**
 * Free slots of the workers of a process. A statement that creates or wakes a row can claim it in the same step when a
 * slot was taken before: the row then needs no hint and no claim.
 */
import type { WorkTable } from '../db/tables/columns.ts'
import type { Claimed, Held } from './work.ts'

/** A slot that is kept for one row. Exactly one of its functions is called, once. */
export interface Slot {
  /** Starts the work on the row, which was claimed by a statement that was sent after the slot was taken. */
  run(row: Claimed): void
  /** Gives the slot back: the row was not claimed. */
  free(): void
  /**
   * Gives the slot back when nobody knows whether the row was claimed, because the statement failed. If it was, the row is
   * released as soon as the database responds; else its lease ends by itself.
   */
  giveBack(row: Held): void
}

/** Takes a slot for a row of this project, or null when there is none for it now. */
export type TakeSlot = (projectId: string) => Slot | null

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
