/** The loop of one generation: reads its state, decides, acts, until the row is released. */
import { momentNow } from '../../../core/time.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { selectRows } from '../../../store/db/rows.ts'
import { sql } from '../../../store/db/sql.ts'
import { generations } from '../../../store/db/tables/generations.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import { stateOfRow, stateOfRun, type RunStateRow } from '../../approvals/index.ts'
import { generationOf, type Generation, isTerminal } from '../generation.ts'
import { readOwnDeadline } from '../nesting/deadline.ts'
import { chainBudgets } from '../nesting/tree.ts'
import type { HeldGeneration, Snapshot } from '../transaction/claim.ts'
import { type Situation, decide, type Decision } from '../decide.ts'
import { isOutage, isRefused } from '../../../store/db/storage-error.ts'
import { interruption, type Recheck, type WorkControl } from '../../../store/work/worker.ts'
import type { Services } from '../../access/index.ts'
import { notSent, settleLate } from '../../calls/index.ts'
import { isNewest, loadCallsOf, type ToolCall } from '../../tool-calls/index.ts'
import type { Models } from '../../models/index.ts'
import { countTry, lostTry } from '../step/tries.ts'
import { modelStep } from '../step/model-step.ts'
import { reclaim } from '../transaction/commit-with-outage-retry.ts'
import { inFlightCalls, commitTurn, type Turn, type TurnOutcome, parkPaused } from '../transaction/turn.ts'
import { beginActivation, type ActivationOutcome } from '../transaction/activation.ts'
import { cancelChange, expiry, failure } from '../transaction/terminal.ts'
import { askChildrenToEnd, cancelChildren, completionOf, end, endUnderLock, timeOut } from './end.ts'
import { concurrencyOf, runServerCall } from './run-calls.ts'
import { park, waitForCalls } from './wait.ts'

/**
 * Reads generation, calls and the versions of its tools in one snapshot: an output that settles a call may also bring
 * settings for the next step. LeaseLostError when another worker holds the row.
 */
async function loadSnapshot(db: Database, held: HeldGeneration): Promise<Snapshot> {
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
function takeClaimed(held: HeldGeneration): Snapshot | null {
  const { claimed = null } = held
  delete held.claimed
  if (!claimed || 'generation' in claimed) return claimed
  const { row, ...state } = claimed
  return { generation: generationOf(row!), ...state }
}

/** What the loop decides by. Reads more only for a run that is over its time, in a chain, or has a budget of the day. */
async function situationOf(
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

/**
 * Works on a claimed generation until it is parked or terminal. Safe to run again from any point after a crash: every
 * turn starts from the rows. While the database is unreachable it waits and reads the rows again, as long as the
 * lease certainly holds. Returns when the signal aborts for another reason than an interrupt.
 */
export async function runGeneration(
  services: Services,
  models: Models,
  held: HeldGeneration,
  { signal, recheck, lease, isOutdated, isDraining }: WorkControl,
): Promise<void> {
  const inFlight = inFlightCalls()
  const steps = held.claimed && 'steps' in held.claimed ? held.claimed.steps : []
  const run: Run = { services, models, held, signal, inFlight, lease, isDraining, steps, unsent: new Map() }
  if (isOutdated) takeClaimed(held)
  held.asked = held.was === 'RUNNING'
  try {
    const outcome = await turnsAcrossOutages(run, recheck)
    held.activation?.end(outcome)
  } catch (error) {
    held.activation?.end('interrupted', error)
    // Wait for what is in flight first: the failure of one call must not end another that was sent.
    await inFlight.idle().catch(() => {})
    if (signal.aborted || error instanceof LeaseLostError || isOutage(error)) throw error
    // A bug of the server, or what the database refuses, would come again at every try: the generation fails, and the log has the cause.
    services.log.error({ err: error, generationId: held.id }, 'a generation failed because of a server error')
    const calls = await loadCallsOf(services.db, [held.id])
    await askChildrenToEnd(services, calls)
    const [code, message] = isRefused(error) ? notStored : internal
    await commitTurn({ services, held }, failure(code, message, calls))
  } finally {
    // No call of this run may be in flight when the row is released.
    await inFlight.idle().catch(() => {})
    // The next worker cannot know that these calls were not sent.
    for (const own of run.unsent.values()) void settleLate(services, own, notSent)
  }
}

const internal = ['INTERNAL', 'The server made an unexpected mistake.'] as const
const notStored = [
  'NOT_STORED',
  'The database refused to store what this run did. The log of the server has the reason.',
] as const

type Run = Omit<Turn, 'generation' | 'calls' | 'toolVersions' | 'agreed' | 'paused' | 'readAt'>

async function turnsAcrossOutages(run: Run, recheck: Recheck): Promise<ActivationOutcome> {
  const { services, held, signal, inFlight } = run
  for (;;) {
    const { epoch } = held
    const isOver = () => signal.aborted && signal.reason !== interruption
    try {
      return await turns(run, recheck)
    } catch (error) {
      const fenced = error instanceof LeaseLostError && held.epoch > epoch
      if (isOver() || (!fenced && !isOutage(error))) throw error
      services.log.warn(
        { err: error, generationId: held.id },
        'the database cannot be used now; the rows are read again',
      )
    }
    await reclaim(run)
    inFlight.clearFailure()
  }
}

async function turns(run: Run, recheck: Recheck): Promise<ActivationOutcome> {
  const { held, services, signal, inFlight } = run
  for (;;) {
    if (signal.aborted && signal.reason !== interruption) return 'interrupted'
    // Subscribe before reading: a verdict that arrives in between must end the wait.
    const rechecked = recheck.next()
    // Snapshot the ids before reading: a call that settles meanwhile may still read as open.
    const started = new Set(inFlight.ids)
    const state = takeClaimed(held) ?? (await loadSnapshot(services.db, held))
    const situation = await situationOf(services.db, held, state, started)
    const { generation, calls, toolVersions, agreed, paused, readAt } = state
    if (isTerminal(generation.storedStatus)) return 'interrupted'
    held.activation ??= await beginActivation(services, generation)
    const turn: Turn = { ...run, generation, calls, toolVersions, agreed, paused, readAt }
    let decision = decide(situation)
    // Where the step has calls, its response was stored.
    held.asked &&= decision.do === 'model' || decision.do === 'waitForResume'
    if (run.isDraining()) {
      const drained = await drain(turn, decision)
      if (drained === 'givenBack') return 'interrupted'
      if (drained === 'goOn') continue
    }
    if (decision.do === 'run') {
      startCalls(turn, decision.calls)
      for (const call of decision.calls) started.add(call.id)
      decision = decide(situation)
    }
    const outcome = await act(turn, decision, rechecked).catch((error: unknown) => {
      // An interrupt aborted a model request or a wait: the next turn reads the reason from the rows.
      if (signal.aborted && signal.reason === interruption && !(error instanceof LeaseLostError))
        return 'goOn' as const
      throw error
    })
    if (outcome === 'parked') return 'parked'
    if (outcome === 'terminal') return 'ended'
  }
}

function startCalls(turn: Turn, calls: ToolCall[]): void {
  turn.inFlight.add(calls, concurrencyOf(turn), (call) => runServerCall(turn, call))
}

/**
 * A turn of a process that shuts down: calls committed as EXECUTING are sent and waited for; if the decision would
 * start something new, the row is released instead. `act`: the decision starts nothing.
 */
async function drain(turn: Turn, decision: Decision): Promise<'act' | 'goOn' | 'givenBack'> {
  const { services, held, inFlight, unsent } = turn
  if (decision.do !== 'run' && decision.do !== 'model') return 'act'
  const begun =
    decision.do === 'run' ? decision.calls.filter((call) => isNewest(unsent.get(call.id), call)) : []
  if (begun.length > 0) startCalls(turn, begun)
  if (inFlight.ids.size > 0) {
    await inFlight.idle()
    return 'goOn'
  }
  await commitTurn(turn, {
    set: [sql`status = 'QUEUED'`, ...lostTry(turn)],
    wakeAt: sql`now()`,
    release: true,
  })
  services.pubsub.publish([{ kind: 'work', table: 'generations' }])
  services.log.debug({ generationId: held.id }, 'released: this process shuts down')
  return 'givenBack'
}

async function act(turn: Turn, decision: Decision, rechecked: Promise<void>): Promise<TurnOutcome> {
  switch (decision.do) {
    case 'model':
      return turn.held.asked ? countTry(turn, decision.plan) : modelStep(turn, decision.plan)
    case 'run':
      return 'goOn'
    case 'waitForCalls':
      return waitForCalls(turn, decision.forMs, rechecked)
    case 'wait':
      return park(turn)
    case 'waitForResume':
      return parkPaused(turn, lostTry(turn))
    case 'cancelChildren':
      return cancelChildren(turn)
    case 'timeOut':
      return timeOut(turn, decision.calls)
    case 'cancel':
      return endUnderLock(turn, cancelChange)
    case 'expire':
      return endUnderLock(turn, expiry)
    case 'fail':
      return end(turn, failure(decision.code, decision.message))
    case 'complete':
      return end(turn, await completionOf(turn, decision))
  }
}
