/**
 * Requests a model response until one succeeds or no attempt is left, and records every failed attempt as operators
 * see it.
 */
import { attributeNames as names, beginUnit, type Unit } from '../../../core/telemetry/unit.ts'
import type { Services } from '../../access/index.ts'
import { ModelError, type ModelAnswer, type ModelPort, zeroUsage } from '../../models/index.ts'
import { type Turn, commitTurn, isPaused, parkPaused } from '../transaction/turn.ts'
import { setTimeout as pause } from 'node:timers/promises'
import { elapsedSince, momentNow } from '../../../core/time.ts'
import { nowPlus } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { sendWithinMs } from '../../basis/index.ts'
import { attemptTimes, type AttemptTimes, attempt, type PreparedRequest, sendDeltas } from './request.ts'
import {
  rememberAccepted,
  rememberedOf,
  acceptanceAfter,
  knownAcceptance,
  type AcceptedTools,
} from './left-out.ts'
import { isNeeded } from './tool-loading.ts'
import { stepReset } from '../../events/index.ts'
import type { StepPlan } from '../decide.ts'
import { retryDelay } from './tries.ts'

/** The names of providers in the conventions, where ours differ. */
const conventional: Partial<Record<ModelPort['providerKind'], string>> = { google: 'gcp.gemini' }

/** What operators see of one attempt at a model response: its span, its duration and its tokens. */
function beginModelUnit({ services, held }: Turn, { name, providerKind }: ModelPort): Unit {
  const model = name.slice(name.indexOf('/') + 1)
  return beginUnit(services.meters, 'model', {
    name: model,
    parent: held.activation?.trace,
    attributes: {
      [names.operation]: 'chat',
      [names.provider]: conventional[providerKind] ?? providerKind,
      [names.requestModel]: model,
      [names.generation]: held.id,
    },
  })
}

function endModelUnit(
  { meters }: Services,
  unit: Unit,
  { name, providerKind }: ModelPort,
  { usage, finishReason }: ModelAnswer,
): void {
  const labels = { kind: providerKind, model: name }
  unit.note({
    [names.finishReasons]: [finishReason],
    [names.inputTokens]: usage.inputTokens,
    [names.outputTokens]: usage.outputTokens,
  })
  unit.end({ ...labels, outcome: 'success' })
  meters.tokens('input', usage.inputTokens, labels)
  meters.tokens('output', usage.outputTokens, labels)
}

/** An error that is not the model's is an interruption: a cancel, or a process that shuts down. */
function failModelUnit(unit: Unit, { name, providerKind }: ModelPort, error: unknown): void {
  const code = error instanceof ModelError ? error.code : 'interrupted'
  unit.end({ kind: providerKind, model: name, outcome: code.toLowerCase() }, code)
}

/**
 * The response; or `requeued` when the provider asked for a long wait, or a pause holds the run, and the row was released
 * with a later wake-up. `prepare` builds a request of what the model takes, and a smaller one, once, after a context overflow.
 * Throws the last ModelError when no attempt is left. Attempts are counted in the row, across restarts, whatever came of them;
 * requests that are refused for a tool, which is then left out, are part of one attempt: they cost nothing.
 */
export async function withRetries(
  turn: Turn,
  plan: StepPlan,
  port: ModelPort,
  prepare: (size: { tighter: boolean; accepted: AcceptedTools }) => PreparedRequest,
): Promise<{ answer: ModelAnswer; prepared: PreparedRequest; times: AttemptTimes } | 'requeued'> {
  const { services, held, generation, signal } = turn
  let tighter = false
  const refusals = toolRefusals(turn, plan, port)
  let prepared = prepare({ tighter, accepted: refusals.accepted() })
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
    // The row says so too: it is RUNNING, and whoever claims it in this state counts the try.
    held.asked = true
    try {
      const answer = await attempt(services, port, prepared, number, deltas, times, signal)
      endModelUnit(services, unit, port, answer)
      return { prepared, times, answer }
    } catch (error) {
      failModelUnit(unit, port, error)
      if (!(error instanceof ModelError)) throw error
      if (refusals.learn(error, prepared)) {
        held.asked = false
        prepared = prepare({ tighter, accepted: refusals.accepted() })
        continue
      }
      const overflow = error.code === 'CONTEXT_OVERFLOW' && !tighter
      const planned = retryDelay({ attempt: number, retryAfterMs: error.retryAfterMs, random: Math.random })
      const retry = overflow && planned ? { delayMs: 0, requeue: false } : error.retryable ? planned : null
      await commitFailedAttempt(turn, plan, port, { number, times, error }, retry)
      held.asked = false
      if (!retry) throw error
      if (retry.requeue) return 'requeued'
      if (overflow) {
        tighter = true
        prepared = prepare({ tighter, accepted: refusals.accepted() })
      }
      generation.attempt = number
      await pause(retry.delayMs, undefined, { signal })
    }
  }
}

/** Requests of one attempt that may be refused for their tools. */
const mostRefusals = 32

/** What a model takes, as it turns out within an attempt, and as later steps and runs are told. */
function toolRefusals({ services, generation, steps }: Turn, plan: StepPlan, port: ModelPort) {
  const place = { projectId: generation.projectId, model: port.name }
  let accepted = knownAcceptance(port, rememberedOf(services, place), steps)
  let refusals = 0
  return {
    accepted: () => accepted,
    /** Whether the request can be made again, with less of its tools. */
    learn(error: ModelError, { tools }: PreparedRequest): boolean {
      const needed = (name: string) => isNeeded(generation.settings, plan, name)
      const after = refusals < mostRefusals ? acceptanceAfter(accepted, error, tools, needed) : null
      if (!after) return false
      refusals++
      accepted = after
      rememberAccepted(services, place, after)
      services.log.warn(
        { generationId: generation.id, model: port.name, reason: error.message },
        'a model refused tools, and is asked without them',
      )
      return true
    },
  }
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
