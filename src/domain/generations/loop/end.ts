/** Ends a generation, and times out client calls. */
import { errorResult } from '../../../core/content.ts'
import { atomically, nowPlus } from '../../../store/db/database.ts'
import {
  callSettled,
  inGeneration,
  isOpen,
  loadCallsOf,
  settleCalls,
  type ToolCall,
} from '../../tool-calls/index.ts'
import { loadNewSteps } from '../context/history.ts'
import type { Decision } from '../decide.ts'
import { textOf } from '../../models/index.ts'
import { waitsForChild } from '../nesting/limits.ts'
import { commit, type Change } from '../transaction/commit.ts'
import { completed, expiry } from '../transaction/terminal.ts'
import { commitTurn, lockOwn, publishCommit, type Turn, type TurnOutcome } from '../transaction/turn.ts'
import { cancelChildren } from './end-children.ts'

/**
 * Ends the generation with the calls that are open under the row's lock: an output or verdict may have arrived since
 * they were read.
 */
export async function endUnderLock(turn: Turn, changeOf: (calls: ToolCall[]) => Change): Promise<'terminal'> {
  const { services, held } = turn
  const made = await atomically(services.db, async (tx) => {
    await lockOwn(tx, held)
    return commit(tx, held, changeOf(await loadCallsOf(tx, [held.id])))
  })
  publishCommit(turn, made)
  return 'terminal'
}

/** Ends the generation; no call may be open. */
export async function end(turn: Turn, change: Change): Promise<'terminal'> {
  await commitTurn(turn, change)
  return 'terminal'
}

/** The change that completes the generation, with the text of its last step or the arguments of its stop tool. */
export async function completion(turn: Turn, decision: Decision & { do: 'complete' }): Promise<Change> {
  const { stopReason, truncated, stopCall } = decision
  await loadNewSteps(turn.services.db, turn.generation, turn.steps)
  const last = turn.steps.at(-1)
  const object = stopCall?.status === 'SKIPPED' ? stopCall.arguments : null
  return completed({ stopReason, truncated, text: last ? textOf(last.parts) || null : null, object })
}

/**
 * Times out client calls: with an error result for the model, or by ending the generation, as the agent's settings
 * say.
 */
export async function timeOut(turn: Turn, late: ToolCall[]): Promise<TurnOutcome> {
  const { services, held, generation } = turn
  if (generation.settings.onClientTimeout === 'EXPIRE')
    return turn.calls.some(waitsForChild) ? cancelChildren(turn) : endUnderLock(turn, expiry)
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
      calls: open.length > 0 ? [settleCalls('timeOut', outcomes, inGeneration)] : [],
      events: open.map((call) => callSettled(call, 'ERRORED')),
    })
  })
  publishCommit(turn, made)
  return 'goOn'
}
