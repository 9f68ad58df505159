/** One turn of the loop: what its acts share, and the write that every one of them ends with. */
import { sql } from 'drizzle-orm'
import { query, type Database } from '../../store/db/database.ts'
import { LeaseLostError } from '../../store/work/work.ts'
import type { House } from '../access/index.ts'
import type { ToolCall } from '../tools/index.ts'
import type { CallsInHand } from './calls-in-hand.ts'
import type { HeldGeneration } from './claim.ts'
import { commit, type Change, type Committed } from './commit.ts'
import type { Generation } from './generation.ts'
import type { Models } from './providers.ts'

/** Server calls of one generation that run at once. */
export const maxParallelCalls = 8

export interface Turn {
  house: House
  models: Models
  held: HeldGeneration
  generation: Generation
  /** All calls of the generation so far. */
  calls: ToolCall[]
  signal: AbortSignal
  inHand: CallsInHand
}

/** `parked`: the row was given back in the same commit. */
export type TurnOutcome = 'goOn' | 'parked' | 'terminal'

/** Commits and rings. Keeps the newest event number for the deltas that follow. */
export async function write(turn: Pick<Turn, 'house' | 'held'>, change: Change): Promise<void> {
  const made = await commit(turn.house.db, turn.held, change)
  if (change.events?.length) tell(turn, made)
}

/** Rings for what a transaction of the turn has appended, to its own log and to those above. */
export function tell({ house, held }: Pick<Turn, 'house' | 'held'>, { seq, hints }: Committed): void {
  // Calls of one generation commit side by side.
  held.lastSeq = Math.max(held.lastSeq, seq)
  house.bell.ring([{ kind: 'news', generationId: held.id, projectId: held.projectId, seq }, ...hints])
}

/** Locks the row in a transaction and proves that it is still ours. */
export async function lockOwn(tx: Database, held: HeldGeneration): Promise<void> {
  const rows = await query(
    tx,
    sql`select 1 from generations where id = ${held.id} and epoch = ${held.epoch} for update`,
  )
  if (rows.length === 0) throw new LeaseLostError(held.id)
}
