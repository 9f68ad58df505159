/**
 * One turn of the loop: the state that its acts share, its calls in flight, what a pause holds, and the commit that
 * ends each act.
 */
import type { ToolCall, UnsentAttempt } from '../../tool-calls/index.ts'
import type { Moment } from '../../../core/time.ts'
import { query, type Database, atomically, nowPlus } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import type { Lease } from '../../../store/work/leases.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import type { Services } from '../../access/index.ts'
import type { Approval } from '../../approvals/index.ts'
import type { ToolVersions } from '../../tools/index.ts'
import type { HeldGeneration } from './claim.ts'
import { commit, type Change, type CommitResult, unlessCancelled } from './commit.ts'
import type { Generation } from '../generation.ts'
import type { Step } from '../steps.ts'
import type { Models } from '../../models/index.ts'
import { parkedMs, pausesOfRun, stillPaused } from '../../basis/index.ts'

/** The server calls of one generation that this worker runs, while the loop keeps reading the rows. */
interface InFlightCalls {
  /** Every call that was added and has not ended, sent or not. */
  readonly ids: ReadonlySet<string>
  /** Runs the calls in order, at most `concurrency` of all calls in flight at once. */
  add(calls: ToolCall[], concurrency: number, run: (call: ToolCall) => Promise<void>): void
  /** Resolves when no call is in flight. Rejects with the first failure, after the other running calls have ended. */
  idle(): Promise<void>
  /** Forgets the failure, so that the calls that it stopped can be added again. */
  clearFailure(): void
}

export function inFlightCalls(): InFlightCalls {
  const ids = new Set<string>()
  const waiting: { call: ToolCall; run: (call: ToolCall) => Promise<void> }[] = []
  let running = 0
  let concurrency = 1
  let failure: { error: unknown } | null = null
  let onIdle: (() => void)[] = []

  const pump = () => {
    while (running < concurrency && waiting.length > 0) void start(waiting.shift()!)
    if (running > 0) return
    for (const resolve of onIdle) resolve()
    onIdle = []
  }
  const start = async ({ call, run }: (typeof waiting)[number]) => {
    running++
    try {
      await run(call)
    } catch (error) {
      failure ??= { error }
      for (const dropped of waiting.splice(0)) ids.delete(dropped.call.id)
    }
    ids.delete(call.id)
    running--
    pump()
  }
  return {
    ids,
    clearFailure: () => void (failure = null),
    add(calls, most, run) {
      concurrency = most
      for (const call of calls) {
        ids.add(call.id)
        waiting.push({ call, run })
      }
      pump()
    },
    async idle() {
      if (running > 0) await new Promise<void>((resolve) => onIdle.push(resolve))
      if (failure) throw failure.error
    },
  }
}

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
  { seq, hints }: CommitResult,
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

type Writer = Pick<Turn, 'services' | 'held'>

/** Whether a pause holds the run, or one of these tools of it. */
export async function isPaused({ services, held }: Writer, toolIds: readonly string[]): Promise<boolean> {
  return (await query(services.leaseDb, pausesOfRun(held.id, toolIds))).length > 0
}

/** Which of these tools a pause holds: all of them when it holds the run. LeaseLostError when another worker has the row. */
export async function pausedTools(
  { services, held }: Writer,
  toolIds: readonly string[],
): Promise<readonly string[]> {
  const found = sql`select target from pauses where id in (${pausesOfRun(held.id, toolIds)})`
  const [row] = await query<{ targets: string[] }>(
    services.db,
    sql`select coalesce((select jsonb_agg(target) from (${found}) as p), '[]') as targets
      from generations where id = ${held.id} and epoch = ${held.epoch}`,
  )
  if (!row) throw new LeaseLostError(held.id)
  const isWhole = row.targets.some((target) => !toolIds.includes(target))
  return isWhole ? toolIds : row.targets
}

/**
 * Commits the change while a pause holds the run or one of these tools, and in the sight of whoever ends it; else writes
 * nothing and returns false. LeaseLostError when another worker has the row.
 */
export async function whilePaused(
  turn: Writer,
  toolIds: readonly string[],
  change: Change,
): Promise<boolean> {
  const { services, held } = turn
  const made = await atomically(services.db, async (tx) => {
    await lockOwn(tx, held)
    return (await stillPaused(tx, pausesOfRun(held.id, toolIds))) ? commit(tx, held, change) : null
  })
  if (made) publishCommit(turn, made)
  return made !== null
}

/**
 * Releases the row of a run whose next step a pause holds, with these assignments. Its end makes it due; a cancel ends it at
 * once.
 */
export async function parkPaused(turn: Writer, also: readonly SQL[] = []): Promise<'goOn' | 'parked'> {
  const parked = await whilePaused(turn, [], {
    set: [sql`status = 'QUEUED'`, ...also],
    wakeAt: unlessCancelled(nowPlus(parkedMs)),
    release: true,
  })
  return parked ? 'parked' : 'goOn'
}
