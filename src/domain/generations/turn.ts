/** One turn of the loop: what its acts share, and the write that every one of them ends with. */
import type { House } from '../access/index.ts'
import type { ToolCall } from '../tools/index.ts'
import type { HeldGeneration } from './claim.ts'
import { commit, type Change } from './commit.ts'
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
}

/** `parked`: the row was given back in the same commit. */
export type TurnOutcome = 'goOn' | 'parked' | 'terminal'

/** Commits and rings. Keeps the newest event number for the deltas that follow. */
export async function write(turn: Pick<Turn, 'house' | 'held'>, change: Change): Promise<void> {
  const { house, held } = turn
  held.lastSeq = await commit(house.db, held, change)
  if (change.events?.length)
    house.bell.ring([{ kind: 'news', generationId: held.id, projectId: held.projectId, seq: held.lastSeq }])
}
