/** The hands of the loop: looks at a generation, asks `next` what to do, does it, until the row is given back. */
import { sql } from 'drizzle-orm'
import { errorResult } from '../../../core/content.ts'
import { atomically, nowPlus, query, type Database } from '../../../store/db/database.ts'
import { selectRows } from '../../../store/db/rows.ts'
import { isStorageError } from '../../../store/db/storage-error.ts'
import { generations } from '../../../store/db/tables/generations.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import { interrupted, type Recheck, type WorkControl } from '../../../store/work/worker.ts'
import type { Services } from '../../access/index.ts'
import { stepReset } from '../../events/index.ts'
import { notSent, settleLate } from '../../calls/index.ts'
import {
  callSettled,
  callsAsJson,
  callsOfJson,
  inGeneration,
  isOpen,
  loadCallsOf,
  settleCalls,
  type ToolCall,
} from '../../tool-calls/index.ts'
import { inFlightCalls } from '../transaction/in-flight-calls.ts'
import { cancelChange, completed, expiry, failed } from '../transaction/terminal.ts'
import { commit, unlessCancelled, type Change } from '../transaction/commit.ts'
import type { HeldGeneration } from '../transaction/claim.ts'
import { readEndOfTime } from '../nesting/deadline.ts'
import { askRunsToEnd, endRuns } from './end-children.ts'
import { generationOf, isTerminal, type Generation } from '../generation.ts'
import { loadStepsOf } from '../context/history.ts'
import { textOf } from '../model/message.ts'
import { waitsForRun } from '../nesting/limits.ts'
import { lookAgainAt, next, toRun, type Decision } from '../decide.ts'
import type { Models } from '../providers/provider-records.ts'
import { concurrencyOf, runServerCall } from './run-calls.ts'
import { modelStep } from '../step/model-step.ts'
import { chainBudgets } from '../nesting/tree.ts'
import { lockOwn, publishCommit, commitTurn, type Turn, type TurnOutcome } from '../transaction/turn.ts'
import { reclaim } from '../transaction/commit-surely.ts'

/**
 * Works on a claimed generation until it is parked or terminal. Safe to run again from any point after a crash: every
 * turn starts from the rows. When the database does not answer it waits for it and reads the rows again, as long as the
 * lease is surely its own. Ends quietly when the signal fires for another reason than an interrupt.
 */
export async function runGeneration(
  services: Services,
  models: Models,
  held: HeldGeneration,
  { signal, recheck, lease, isDraining }: WorkControl,
): Promise<void> {
  const inFlight = inFlightCalls()
  const run: Run = { services, models, held, signal, inFlight, lease, isDraining, unsent: new Map() }
  try {
    await turnsOverOutages(run, recheck)
  } catch (error) {
    // What is under way is heard out first: a call that was sent is not ended by somebody else's fault.
    await inFlight.idle().catch(() => {})
    if (signal.aborted || error instanceof LeaseLostError || isStorageError(error)) throw error
    // A fault of ours would come back at every try: the generation ends, and the log says why.
    services.log.error({ err: error, generationId: held.id }, 'a generation failed by a fault of the server')
    const calls = await loadCallsOf(services.db, [held.id])
    await askRunsToEnd(services, calls)
    await commitTurn({ services, held }, failed('INTERNAL', 'The server made an unexpected mistake.', calls))
  } finally {
    // Nothing of this run may still be under way when the row is given back.
    await inFlight.idle().catch(() => {})
    // Whoever has the row now cannot know that these were not sent.
    for (const [id, attempt] of run.unsent) void settleLate(services, { id, attempt }, notSent)
  }
}

type Run = Omit<Turn, 'generation' | 'calls'>

async function turnsOverOutages(run: Run, recheck: Recheck): Promise<void> {
  const { services, held, signal, inFlight } = run
  for (;;) {
    const { epoch } = held
    const isOver = () => signal.aborted && signal.reason !== interrupted
    try {
      return await turns(run, recheck)
    } catch (error) {
      const fenced = error instanceof LeaseLostError && held.epoch > epoch
      if (isOver() || (!fenced && !isStorageError(error))) throw error
      services.log.warn(
        { err: error, generationId: held.id },
        'the database did not answer; the rows are read again',
      )
    }
    await reclaim(run)
    inFlight.forgive()
    // A model's answer may have been cut off in the middle.
    held.was = 'RUNNING'
  }
}

async function turns(run: Run, recheck: Recheck): Promise<void> {
  const { held, services, signal, inFlight } = run
  for (let first = true; ; first = false) {
    if (signal.aborted && signal.reason !== interrupted) return
    // Before the look: who decides between look and wait is heard.
    const rechecked = recheck.next()
    // Before the look too: what ends during it may stand in the rows as if it had not.
    const mine = new Set(inFlight.ids)
    const state = await look(services.db, held, mine)
    const { generation, calls } = state
    if (isTerminal(generation.storedStatus)) return
    const step: Turn = { ...run, generation, calls }
    let decision = next(state.situation)
    if (run.isDraining()) {
      const drained = await drain(step, decision)
      if (drained === 'givenBack') return
      if (drained === 'goOn') continue
    }
    if (first && held.was === 'RUNNING' && decision.do === 'model') await commitReset(step)
    if (decision.do === 'run') {
      start(step, decision.calls)
      for (const call of decision.calls) mine.add(call.id)
      decision = next(state.situation)
    }
    const outcome = await act(step, decision, rechecked).catch((error: unknown) => {
      // A model or wait that was aborted by an interrupt: the next look finds out why.
      if (signal.aborted && signal.reason === interrupted && !(error instanceof LeaseLostError))
        return 'goOn' as const
      throw error
    })
    if (outcome !== 'goOn') return
  }
}

function start(step: Turn, calls: ToolCall[]): void {
  step.inFlight.add(calls, concurrencyOf(step), (call) => runServerCall(step, call))
}

/**
 * What a process that stops still does: calls that are committed as sent leave and are heard out, and a row that would
 * begin something new is given back at once. `act`: the decision begins nothing.
 */
async function drain(step: Turn, decision: Decision): Promise<'act' | 'goOn' | 'givenBack'> {
  const { services, held, inFlight, unsent } = step
  if (decision.do !== 'run' && decision.do !== 'model') return 'act'
  const begun =
    decision.do === 'run' ? decision.calls.filter((call) => unsent.get(call.id) === call.attempt) : []
  if (begun.length > 0) start(step, begun)
  if (inFlight.ids.size > 0) {
    await inFlight.idle()
    return 'goOn'
  }
  await commitTurn(step, { set: [sql`status = 'QUEUED'`], wakeAt: sql`now()`, release: true })
  services.pubsub.publish([{ kind: 'work', table: 'generations' }])
  services.log.debug({ generationId: held.id }, 'given back: this process stops')
  return 'givenBack'
}

async function look(db: Database, held: HeldGeneration, inFlight: ReadonlySet<string>) {
  // Row and calls in one snapshot: an output that settles a call may bring what holds for the next step.
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
    generation.deadlineAt = new Date(await readEndOfTime(db, held.id, generation.deadlineAt))
  held.lastSeq = Math.max(held.lastSeq, generation.lastSeq)
  // A run alone pays for no look at others.
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

/** A worker went away in the middle of a model response: subscribers drop the text of it. */
async function commitReset(step: Turn): Promise<void> {
  const { generation, services } = step
  generation.attempt += 1
  const data = {
    stepIndex: generation.stepCount + 1,
    attempt: generation.attempt + 1,
    reason: 'WORKER_LOST' as const,
  }
  await commitTurn(step, {
    set: [sql`attempt = ${generation.attempt}::int`],
    wakeAt: nowPlus(services.limits.leaseMs),
    events: [stepReset(data)],
  })
}

async function act(step: Turn, decision: Decision, rechecked: Promise<void>): Promise<TurnOutcome> {
  switch (decision.do) {
    case 'model':
      return modelStep(step, decision.plan)
    case 'run':
      return 'goOn'
    case 'attend':
      return attend(step, decision.forMs, rechecked)
    case 'wait':
      return park(step)
    case 'endRuns':
      return endRuns(step)
    case 'giveUp':
      return giveUp(step, decision.calls)
    case 'cancel':
      return close(step, cancelChange)
    case 'expire':
      return close(step, expiry)
    case 'fail':
      return end(step, failed(decision.code, decision.message))
    case 'complete':
      return end(step, await completion(step, decision))
  }
}

/** How long a lost recheck can delay the look at a decision, in milliseconds. */
const attendMs = 1000

/** Waits for the calls in hand, and looks again when somebody decided meanwhile or a deadline has come. */
async function attend(step: Turn, forMs: number | null, rechecked: Promise<void>): Promise<'goOn'> {
  const { inFlight, calls, signal } = step
  const asks = calls.some((call) => isOpen(call) && (call.status.startsWith('AWAITING') || waitsForRun(call)))
  if (forMs === null || signal.aborted) {
    await inFlight.idle()
    return 'goOn'
  }
  let timer: NodeJS.Timeout | undefined
  const looked = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(forMs, asks ? attendMs : 2 ** 31 - 1))
  })
  await Promise.race([inFlight.idle(), rechecked, looked]).finally(() => clearTimeout(timer))
  return 'goOn'
}

/** Ends it with what is open under the row's lock: an output or a verdict may have come since the look. */
async function close(step: Turn, changeOf: (calls: ToolCall[]) => Change): Promise<'terminal'> {
  const { services, held } = step
  const made = await atomically(services.db, async (tx) => {
    await lockOwn(tx, held)
    return commit(tx, held, changeOf(await loadCallsOf(tx, [held.id])))
  })
  publishCommit(step, made)
  return 'terminal'
}

async function end(step: Turn, change: Change): Promise<'terminal'> {
  await commitTurn(step, change)
  return 'terminal'
}

async function completion(step: Turn, decision: Decision & { do: 'complete' }): Promise<Change> {
  const { stopReason, truncated, stopCall } = decision
  const steps = await loadStepsOf(step.services.db, [step.generation.id])
  const last = steps.at(-1)
  const object = stopCall?.status === 'SKIPPED' ? stopCall.arguments : null
  return completed({ stopReason, truncated, text: last ? textOf(last.parts) || null : null, object })
}

/**
 * Gives the row back until a deadline. The open calls are read again under the row's lock: an output or a verdict that
 * arrived meanwhile has written its part, but does not wake a row that a worker holds.
 */
async function park({ services, held, generation }: Turn): Promise<'goOn' | 'parked'> {
  const parked = await atomically(services.db, async (tx) => {
    await lockOwn(tx, held)
    const open = (await loadCallsOf(tx, [held.id])).filter(isOpen)
    const { sent, due } = toRun(open, new Set(), generation.settings, await nowIfHeld(tx, open))
    if (open.length === 0 || sent.length + due.length > 0) return false
    const until = lookAgainAt(open, generation.deadlineAt.getTime())
    await commit(tx, held, {
      set: [sql`status = 'WAITING'`],
      wakeAt: unlessCancelled(sql`to_timestamp(${until / 1000}::float8)`),
      release: true,
    })
    return true
  })
  return parked ? 'parked' : 'goOn'
}

/** The time of the database, where a limit holds a call back; else nobody asks for it. */
async function nowIfHeld(tx: Database, open: ToolCall[]): Promise<number> {
  if (open.every((call) => call.notBefore === null)) return 0
  const [row] = await query<{ now: number }>(
    tx,
    sql`select (extract(epoch from now()) * 1000)::float8 as now`,
  )
  return row!.now
}

/** Settles client calls whose time is over: an error for the model, or the end, as the agent says. */
async function giveUp(step: Turn, late: ToolCall[]): Promise<TurnOutcome> {
  const { services, held, generation } = step
  if (generation.settings.onClientTimeout === 'EXPIRE')
    return step.calls.some(waitsForRun) ? endRuns(step) : close(step, expiry)
  const ids = new Set(late.map((call) => call.id))
  const made = await atomically(services.db, async (tx) => {
    await lockOwn(tx, held)
    const open = (await loadCallsOf(tx, [held.id])).filter((call) => ids.has(call.id) && isOpen(call))
    const result = errorResult(
      'client_timeout',
      'The calling application gave no output for this call in time.',
    )
    const outcomes = open.map(({ id }) => ({ id, status: 'ERRORED' as const, result }))
    return commit(tx, held, {
      wakeAt: nowPlus(services.limits.leaseMs),
      calls: open.length > 0 ? [settleCalls('settle', outcomes, inGeneration)] : [],
      events: open.map((call) => callSettled(call, 'ERRORED')),
    })
  })
  publishCommit(step, made)
  return 'goOn'
}
