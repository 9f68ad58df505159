/**
 * Tries at a step: those that were lost are counted before the next request, and a failed one is repeated after a
 * pause.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { nowPlus } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { stepReset } from '../../events/index.ts'
import type { StepPlan } from '../decide.ts'
import { failure } from '../transaction/terminal.ts'
import { commitTurn, type Turn, type TurnOutcome } from '../transaction/turn.ts'
import { writeCost } from './store-answer.ts'

/** When to retry a failed attempt. Pure: the caller passes the random number and waits. */
export const retryRules = {
  /** Attempts of one step, including the first. */
  maxAttempts: 4,
  minDelayMs: 500,
  maxDelayMs: 30_000,
  /**
   * Longest pause during which the worker keeps the generation, in milliseconds; for a longer one the row is
   * released.
   */
  longestHoldMs: 60_000,
} as const

export interface FailedAttempt {
  /** The number of the failed attempt, from 1. */
  attempt: number
  /** The pause that the provider asked for, in milliseconds; null for none. */
  retryAfterMs: number | null
  /** Returns a number in [0, 1), like `Math.random`. */
  random: () => number
}

export interface RetryPlan {
  delayMs: number
  /** True: release the row with a wake-up after the pause instead of waiting. */
  requeue: boolean
}

/**
 * How long to wait before the next attempt; null when none is left. Full jitter between 0.5 s and a ceiling of 2, 8,
 * 30 s. A retry-after is a lower bound, with up to a tenth of it (at most 5 s) added, so that clients that were
 * refused together do not return together.
 */
export function retryDelay({ attempt, retryAfterMs, random }: FailedAttempt): RetryPlan | null {
  if (attempt >= retryRules.maxAttempts) return null
  if (retryAfterMs !== null && retryAfterMs >= retryRules.minDelayMs) {
    const spread = Math.min(retryAfterMs / 10, 5_000)
    return {
      delayMs: Math.round(retryAfterMs + random() * spread),
      requeue: retryAfterMs > retryRules.longestHoldMs,
    }
  }
  const ceiling = Math.min(retryRules.maxDelayMs, 2_000 * 4 ** (Math.max(1, attempt) - 1))
  const jitter = random() * (ceiling - retryRules.minDelayMs)
  return { delayMs: Math.round(retryRules.minDelayMs + jitter), requeue: false }
}

/**
 * Counts the lost try after a pause, which grows with each, and tells subscribers to drop the text of it that they have; when
 * it was the last one that a step has, fails the run. The next turn decides what it goes on with.
 */
export async function countTry(turn: Turn, plan: StepPlan): Promise<TurnOutcome> {
  const { generation, held, services, signal } = turn
  const lost = generation.attempt + 1
  const retry = retryDelay({ attempt: lost, retryAfterMs: null, random: Math.random })
  const { set, attempt } = writeCost(held.notStored)
  if (!retry) {
    const change = failure('NOT_STORED', exhausted(lost))
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
