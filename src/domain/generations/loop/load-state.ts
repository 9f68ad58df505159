/** Reads the state of a generation for the loop's next decision. */
import { momentNow } from '../../../core/stopwatch.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { selectRows } from '../../../store/db/rows.ts'
import { sql } from '../../../store/db/sql.ts'
import { generations } from '../../../store/db/tables/generations.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import { stateOfRow, stateOfRun, type RunStateRow } from '../../approvals/index.ts'
import { generationOf } from '../generation.ts'
import { readOwnDeadline } from '../nesting/deadline.ts'
import { chainBudgets } from '../nesting/tree.ts'
import type { HeldGeneration, Snapshot } from '../transaction/claim.ts'
import type { Generation } from '../generation.ts'
import type { Situation } from '../decide.ts'

/**
 * Reads generation, calls and the versions of its tools in one snapshot: an output that settles a call may also bring
 * settings for the next step. LeaseLostError when another worker holds the row.
 */
export async function loadSnapshot(db: Database, held: HeldGeneration): Promise<Snapshot> {
  const readAt = momentNow()
  const [row] = await selectRows<typeof generations, RunStateRow>(
    db,
    generations,
    sql`where id = ${held.id} and epoch = ${held.epoch}`,
    sql`, ${stateOfRun(held.id, sql`generations.settings`)}`,
  )
  if (!row) throw new LeaseLostError(held.id)
  return { generation: generationOf(row), ...stateOfRow(row, readAt) }
}

/** The state that the claim of the row came with, once; null when there is none. */
export function takeClaimed(held: HeldGeneration): Snapshot | null {
  const { claimed = null } = held
  delete held.claimed
  if (!claimed || 'generation' in claimed) return claimed
  const { row, ...state } = claimed
  return { generation: generationOf(row!), ...state }
}

/** What the loop decides by. Reads more only for a run that is over its time, in a chain, or has a budget of the day. */
export async function situationOf(
  db: Database,
  held: HeldGeneration,
  { generation, calls, now, paused }: Snapshot,
  inFlight: ReadonlySet<string>,
): Promise<Situation> {
  if (generation.deadlineAt.getTime() <= now)
    generation.deadlineAt = new Date(await readOwnDeadline(db, held.id, generation.deadlineAt))
  held.lastSeq = Math.max(held.lastSeq, generation.lastSeq)
  // Other generations are read only for a run with a parent or child runs.
  const inChain = generation.rootId !== null || calls.some((call) => call.childId !== null)
  return {
    settings: generation.settings,
    stepCount: generation.stepCount,
    cancelRequested: generation.cancelRequestedAt !== null,
    now,
    deadlineAt: generation.deadlineAt.getTime(),
    calls,
    nextStep: generation.nextStep,
    usedTokens: generation.inputTokens + generation.outputTokens,
    chainBudgets: inChain ? await chainBudgets(db, generation.id) : [],
    usedTokensToday: generation.settings.budget.tokensPerDay === null ? 0 : await tokensToday(db, generation),
    inFlight,
    paused,
  }
}

async function tokensToday(db: Database, generation: Generation): Promise<number> {
  const rows = await query<{ used: number }>(
    db,
    sql`select coalesce(sum(total_tokens), 0)::float8 as used from model_attempts
      where project_id = ${generation.projectId} and agent_id = ${generation.agentId}
      and created_at > now() - interval '24 hours'`,
  )
  return rows[0]!.used
}
