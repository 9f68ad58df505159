/** Reads the state of a generation for the loop's next decision. */
import { sql } from 'drizzle-orm'
import { query, type Database } from '../../../store/db/database.ts'
import { selectRows } from '../../../store/db/rows.ts'
import { generations } from '../../../store/db/tables/generations.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import { callsAsJson, callsOfJson } from '../../tool-calls/index.ts'
import { generationOf, type Generation } from '../generation.ts'
import { readOwnDeadline } from '../nesting/deadline.ts'
import { chainBudgets } from '../nesting/tree.ts'
import type { HeldGeneration } from '../transaction/claim.ts'

/**
 * Reads generation and calls in one snapshot: an output that settles a call may also bring settings for the next
 * step. LeaseLostError when another worker holds the row.
 */
export async function loadState(db: Database, held: HeldGeneration, inFlight: ReadonlySet<string>) {
  const [row] = await selectRows<typeof generations, { now: number; calls: object[] }>(
    db,
    generations,
    sql`where id = ${held.id} and epoch = ${held.epoch}`,
    sql`, (extract(epoch from now()) * 1000)::float8 as now, ${callsAsJson(held.id)} as calls`,
  )
  if (!row) throw new LeaseLostError(held.id)
  const generation = generationOf(row)
  const calls = callsOfJson(row.calls)
  if (generation.deadlineAt.getTime() <= row.now)
    generation.deadlineAt = new Date(await readOwnDeadline(db, held.id, generation.deadlineAt))
  held.lastSeq = Math.max(held.lastSeq, generation.lastSeq)
  // Other generations are read only for a run with a parent or child runs.
  const inChain = generation.rootId !== null || calls.some((call) => call.childId !== null)
  const situation = {
    settings: generation.settings,
    stepCount: generation.stepCount,
    cancelRequested: generation.cancelRequestedAt !== null,
    now: row.now,
    deadlineAt: generation.deadlineAt.getTime(),
    calls,
    nextStep: generation.nextStep,
    usedTokens: generation.inputTokens + generation.outputTokens,
    chainBudgets: inChain ? await chainBudgets(db, generation.id) : [],
    usedTokensToday: generation.settings.budget.tokensPerDay === null ? 0 : await tokensToday(db, generation),
    inFlight,
  }
  return { generation, calls, situation }
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
