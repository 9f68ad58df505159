/** Ends a generation, after its open child runs, and times out client calls. */
import { atomically, nowPlus, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { Services } from '../../access/index.ts'
import {
  isOpen,
  loadCallsOf,
  type ToolCall,
  callSettled,
  inGeneration,
  settleCalls,
} from '../../tool-calls/index.ts'
import { askToEnd } from '../cancel.ts'
import { ownDeadline, waitsForChild } from '../nesting/deadline.ts'
import { commit, type Change } from '../transaction/commit.ts'
import { lockOwn, type Turn, commitTurn, publishCommit, type TurnOutcome } from '../transaction/turn.ts'
import { errorResult } from '../../../core/content.ts'
import { loadNewSteps } from '../context/history.ts'
import type { Decision } from '../decide.ts'
import { textOf } from '../../models/index.ts'
import { completion, expiry } from '../transaction/terminal.ts'

/** Time after which a lost hint is made up for by reading the rows again, in milliseconds. */
const recheckMs = 5000

/**
 * Cancels the child runs that these calls wait for, each in a transaction of its own that locks no ancestor before
 * the run has ended. Child runs past their deadline expire by themselves. Idempotent; a run that was asked ends
 * despite crashes.
 */
export async function askChildrenToEnd(services: Services, calls: readonly ToolCall[]): Promise<void> {
  const ids = calls.filter(waitsForChild).map((call) => call.childId!)
  if (ids.length === 0) return
  const rows = await query<{ id: string }>(
    services.db,
    sql`select id from generations as o where id in ${ids} and finished_at is null and cancel_requested_at is null
      and (deadline_at > now() or ${ownDeadline(sql`o.id`, sql`o.deadline_at`)} > now())`,
  )
  for (const { id } of rows) {
    const { hints } = await atomically(services.db, (tx) =>
      askToEnd(tx, id, 'The run that asked for it has ended.'),
    )
    services.pubsub.publish(hints)
  }
}

/** Cancels the child runs and releases the row until the last of them has ended. */
export async function cancelChildren({ services, held, calls, inFlight }: Turn): Promise<'goOn' | 'parked'> {
  await askChildrenToEnd(services, calls)
  if (inFlight.ids.size > 0) {
    // Calls that were sent are allowed to finish before the row is released.
    await inFlight.idle()
    return 'goOn'
  }
  const parked = await atomically(services.db, async (tx) => {
    await lockOwn(tx, held)
    const open = (await loadCallsOf(tx, [held.id])).filter(isOpen)
    if (!open.some(waitsForChild)) return false
    await commit(tx, held, { set: [sql`status = 'WAITING'`], wakeAt: nowPlus(recheckMs), release: true })
    return true
  })
  return parked ? 'parked' : 'goOn'
}

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
export async function completionOf(turn: Turn, decision: Decision & { do: 'complete' }): Promise<Change> {
  const { stopReason, truncated, stopCall } = decision
  await loadNewSteps(turn.services.db, turn.generation, turn.steps)
  const last = turn.steps.at(-1)
  const object = stopCall?.status === 'SKIPPED' ? stopCall.arguments : null
  return completion({ stopReason, truncated, text: last ? textOf(last.parts) || null : null, object })
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
