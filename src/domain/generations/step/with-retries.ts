/** Requests a model response until one succeeds or no attempt is left, and records every failed attempt. */
import { setTimeout as pause } from 'node:timers/promises'
import { elapsedSince, momentNow } from '../../../core/stopwatch.ts'
import { nowPlus, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { sendWithinMs } from '../../../store/work/pauses.ts'
import { attemptTimes, type AttemptTimes } from './attempt-times.ts'
import { beginModelUnit, endModelUnit, failModelUnit } from './model-unit.ts'
import { attempt, type PreparedRequest } from './request.ts'
import { sendDeltas } from './text-deltas.ts'
import { type ModelAnswer, ModelError, type ModelPort, zeroUsage } from '../../models/index.ts'
import { stepReset } from '../../events/index.ts'
import type { StepPlan } from '../decide.ts'
import { retryDelay } from './backoff.ts'
import { isPaused, parkPaused } from '../transaction/paused.ts'
import { commitTurn, type Turn } from '../transaction/turn.ts'

/**
 * The response; or `requeued` when the provider asked for a long wait, or a pause holds the run, and the row was released
 * with a later wake-up. `prepare(true)` builds a smaller request, once, after a context overflow. Throws the last ModelError when
 * no attempt is left. Attempts are counted across restarts.
 */
export async function withRetries(
  turn: Turn,
  plan: StepPlan,
  port: ModelPort,
  prepare: (tighter: boolean) => PreparedRequest,
): Promise<{ answer: ModelAnswer; prepared: PreparedRequest; times: AttemptTimes } | 'requeued'> {
  const { services, held, generation, signal } = turn
  let tightened = false
  let prepared = prepare(false)
  let { readAt } = turn
  for (;;) {
    if (elapsedSince(readAt) >= sendWithinMs) {
      readAt = momentNow()
      if ((await isPaused(turn, [])) && (await parkPaused(turn)) === 'parked') return 'requeued'
    }
    const number = generation.attempt + 1
    const place = { generationId: generation.id, projectId: generation.projectId, stepIndex: plan.stepIndex }
    const deltas = sendDeltas(services.pubsub, { ...place, after: held.lastSeq, attempt: number })
    const times = attemptTimes()
    const unit = beginModelUnit(turn, port)
    try {
      const answer = await attempt(services, port, prepared, number, deltas, times, signal)
      endModelUnit(services, unit, port, answer)
      return { prepared, times, answer }
    } catch (error) {
      failModelUnit(unit, port, error)
      if (!(error instanceof ModelError)) throw error
      const overflow = error.code === 'CONTEXT_OVERFLOW' && !tightened
      const failed = await countFailures(turn, plan)
      const plannedDelay = retryDelay({
        attempt: failed + 1,
        retryAfterMs: error.retryAfterMs,
        random: Math.random,
      })
      const retry = overflow ? { delayMs: 0, requeue: false } : error.retryable ? plannedDelay : null
      await commitFailedAttempt(turn, plan, port, { number, times, error }, retry)
      if (!retry) throw error
      if (retry.requeue) return 'requeued'
      if (overflow) {
        tightened = true
        prepared = prepare(true)
      }
      generation.attempt = number
      await pause(retry.delayMs, undefined, { signal })
    }
  }
}

async function countFailures({ services, generation }: Turn, plan: StepPlan): Promise<number> {
  const rows = await query<{ n: number }>(
    services.db,
    sql`select count(*)::int as n from model_attempts
      where generation_id = ${generation.id} and step_index = ${plan.stepIndex} and error_code is not null`,
  )
  return rows[0]!.n
}

/** Records the failed attempt. If another follows, the event tells subscribers to drop the text of this step. */
async function commitFailedAttempt(
  turn: Turn,
  plan: StepPlan,
  port: ModelPort,
  { number, times, error }: { number: number; times: AttemptTimes; error: ModelError },
  retry: { delayMs: number; requeue: boolean } | null,
): Promise<void> {
  const { services } = turn
  const data = { stepIndex: plan.stepIndex, attempt: number + 1, reason: error.code }
  await commitTurn(turn, {
    set: [
      ...(retry ? [sql`attempt = ${number}::int`] : []),
      ...(retry?.requeue ? [sql`status = 'QUEUED'`] : []),
      sql`model = ${port.name}`,
      sql`model_kind = ${port.providerKind}`,
    ],
    wakeAt: nowPlus(retry?.requeue ? retry.delayMs : services.limits.leaseMs),
    release: retry?.requeue ?? false,
    events: retry ? [stepReset(data)] : [],
    attempt: {
      stepIndex: plan.stepIndex,
      attempt: number,
      model: port.name,
      usage: { ...zeroUsage(), estimated: true },
      totalTokens: 0,
      errorCode: error.code,
      errorMessage: error.message,
      httpStatus: error.status,
      startedAt: times.startedAt(),
    },
  })
}
