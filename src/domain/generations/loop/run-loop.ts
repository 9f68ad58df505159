/** The loop of one generation: reads its state, decides, acts, until the row is released. */
import { sql } from '../../../store/db/sql.ts'
import { isOutage, isRefused } from '../../../store/db/storage-error.ts'
import { LeaseLostError } from '../../../store/work/work.ts'
import { interrupted, type Recheck, type WorkControl } from '../../../store/work/worker.ts'
import type { Services } from '../../access/index.ts'
import { notSent, settleLate } from '../../calls/index.ts'
import { isNewest, loadCallsOf, type ToolCall } from '../../tool-calls/index.ts'
import { decide, type Decision } from '../decide.ts'
import { isTerminal } from '../generation.ts'
import type { Models } from '../../models/index.ts'
import { countTry, lostTry } from '../step/count-try.ts'
import { modelStep } from '../step/model-step.ts'
import type { HeldGeneration } from '../transaction/claim.ts'
import { reclaim } from '../transaction/commit-with-outage-retry.ts'
import { inFlightCalls } from '../transaction/in-flight-calls.ts'
import { beginActivation, type ActivationOutcome } from '../transaction/activation.ts'
import { cancelChange, expiry, failed } from '../transaction/terminal.ts'
import { commitTurn, type Turn, type TurnOutcome } from '../transaction/turn.ts'
import { askChildrenToEnd, cancelChildren } from './end-children.ts'
import { completion, end, endUnderLock, timeOut } from './end.ts'
import { loadSnapshot, situationOf, takeClaimed } from './load-state.ts'
import { concurrencyOf, runServerCall } from './run-calls.ts'
import { parkPaused } from '../transaction/paused.ts'
import { park, waitForCalls } from './wait.ts'

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
    await commitTurn({ services, held }, failed(code, message, calls))
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
    const isOver = () => signal.aborted && signal.reason !== interrupted
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
    if (signal.aborted && signal.reason !== interrupted) return 'interrupted'
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
      if (signal.aborted && signal.reason === interrupted && !(error instanceof LeaseLostError))
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
      return end(turn, failed(decision.code, decision.message))
    case 'complete':
      return end(turn, await completion(turn, decision))
  }
}
