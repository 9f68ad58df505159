/** One turn of the loop: the state that its acts share, and the commit that ends each of them. */
import type { Moment } from '../../../core/stopwatch.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { Lease } from '../../../store/work/leases.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import type { Services } from '../../access/index.ts'
import type { Approval } from '../../approvals/index.ts'
import type { ToolCall, UnsentAttempt } from '../../tool-calls/index.ts'
import type { ToolVersions } from '../../tools/index.ts'
import type { InFlightCalls } from './in-flight-calls.ts'
import type { HeldGeneration } from './claim.ts'
import { commit, type Change, type Committed } from './commit.ts'
import type { Generation, Step } from '../generation.ts'
import type { Models } from '../../models/index.ts'

/** How many server calls of one generation run at once. */
export const maxParallelCalls = 8

export interface Turn {
  services: Services
  models: Models
  held: HeldGeneration
  generation: Generation
  /** All calls of the generation so far. */
  calls: ToolCall[]
  /** The present versions of the generation's tools. */
  toolVersions: ToolVersions
  /** The approvals of its APPROVED calls, as far as they were read. */
  agreed: readonly Approval[]
  /** The steps that this worker has read or written, from the first one on; see stepsOf. */
  steps: Step[]
  signal: AbortSignal
  inFlight: InFlightCalls
  lease: Lease
  /** True when the process shuts down: running calls are finished, and nothing new is started. */
  isDraining(): boolean
  /**
   * Calls that this worker has committed, or tried to commit, as EXECUTING and has not sent, each with its attempt.
   * Whether or not the commit was written, this worker did not send them: the outcome of its attempt is never unknown.
   */
  unsent: Map<string, UnsentAttempt>
  /** Whether a pause holds the run, and when the statement was sent that found it so. */
  paused: boolean
  readAt: Moment
}

/** `parked`: the row was released in the same commit. */
export type TurnOutcome = 'goOn' | 'parked' | 'terminal'

/** Commits and publishes. Keeps the newest event number for the deltas that follow. */
export async function commitTurn(
  turn: Pick<Turn, 'services' | 'held'>,
  change: Change,
  db: Database = turn.services.db,
): Promise<void> {
  const made = await commit(db, turn.held, change)
  if (change.events?.length) publishCommit(turn, made)
}

/** Publishes hints for what a transaction of the turn has appended to its own log and to those of parent and root. */
export function publishCommit(
  { services, held }: Pick<Turn, 'services' | 'held'>,
  { seq, hints }: Committed,
): void {
  // Calls of one generation commit concurrently, so an older number may arrive later.
  held.lastSeq = Math.max(held.lastSeq, seq)
  services.pubsub.publish([{ kind: 'news', generationId: held.id, projectId: held.projectId, seq }, ...hints])
}

/** Locks the row in a transaction and proves its epoch. */
export async function lockOwn(tx: Database, held: HeldGeneration): Promise<void> {
  const rows = await query(
    tx,
    sql`select 1 from generations where id = ${held.id} and epoch = ${held.epoch} for update`,
  )
  if (rows.length === 0) throw new LeaseLostError(held.id)
}
