/** Tries at a step that were lost: a model was asked, and what came of it is not written. They count before the next request. */
import { setTimeout as pause } from 'node:timers/promises'
import { nowPlus } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { stepReset } from '../../events/index.ts'
import type { StepPlan } from '../decide.ts'
import { failed } from '../transaction/terminal.ts'
import { commitTurn, type Turn, type TurnOutcome } from '../transaction/turn.ts'
import { retryDelay } from './backoff.ts'
import { spent } from './store-answer.ts'

/**
 * Counts the lost try after a pause, which grows with each, and tells subscribers to drop the text of it that they have; when
 * it was the last one that a step has, fails the run. The next turn decides what it goes on with.
 */
export async function countTry(turn: Turn, plan: StepPlan): Promise<TurnOutcome> {
  const { generation, held, services, signal } = turn
  const lost = generation.attempt + 1
  const retry = retryDelay({ attempt: lost, retryAfterMs: null, random: Math.random })
  const { set, attempt } = spent(held.notStored)
  if (!retry) {
    const change = failed('NOT_STORED', exhausted(lost))
    await commitTurn(turn, { ...change, set: [...change.set, ...set], ...attempt })
    services.log.error({ generationId: held.id, tries: lost }, 'a generation failed: no response was stored')
    return 'terminal'
  }
  // Before the count: a process that dies meanwhile has asked nobody.
  await pause(retry.delayMs, undefined, { signal })
  const data = { stepIndex: plan.stepIndex, attempt: lost + 1, reason: 'WORKER_LOST' as const }
  await commitTurn(turn, {
    set: [sql`attempt = ${lost}::int`, ...set],
    wakeAt: nowPlus(services.limits.leaseMs),
    events: [stepReset(data)],
    ...attempt,
  })
  held.asked = false
  delete held.notStored
  return 'goOn'
}

const exhausted = (tries: number) =>
  `The model was asked ${tries} times for this step, and no response was stored: the server stopped, or its database could not be used, each time.`

/** The same count, as part of a commit that gives the row back. */
export function lostTry({ held, generation }: Turn): SQL[] {
  return held.asked ? [sql`attempt = ${generation.attempt + 1}::int`] : []
}
