/**
 * The only statements that change tool_calls. Each update proves the status before the change (`transitions`) and the right
 * of its writer (`Proof`); a call that has moved on meanwhile stays unchanged. Most are parts of a larger statement
 * and name its relations. Every update calls the row `t`.
 */
import type { ToolResult } from '../../core/content.ts'
import { jsonb, nowPlus } from '../../store/db/database.ts'
import { sql, SQL } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { assignments, recordset, type Values } from '../../store/db/rows.ts'
import { codeOf } from '../tools/index.ts'
import { parkedMs } from '../basis/index.ts'
import { attemptBegins, attemptEnds, attemptEndsLate } from './attempts.ts'
import {
  underLock,
  type Proof,
  type CallOutcome,
  type EditedCall,
  type SettlingTransition,
} from './writes.ts'
import { openStatuses, transitions, type ToolCallStatus, type TransitionName } from './state.ts'
import type { CallerQuestion, Resolution } from './tool-call.ts'

const nothing = sql``
const onlyId = sql`t.id`
/** Returns every column, for `writtenRows`. By default an update returns the id alone. */
export const wholeRow = sql`t.*`

type CallValues = Values<typeof toolCalls>
/** The calls to update: ids, or a condition on `t`. */
type Which = readonly string[] | SQL

/** Of a call whose own row is given back, or made due: no renewal of a lease that is on its way moves what is set now. */
const nextEpoch: CallValues = { epoch: sql`t.epoch + 1` }
/** The row of a call is due now, also if somebody holds it: see `madeDue`. */
const dueNow: CallValues = { ...nextEpoch, wakeAt: sql`now()` }

/**
 * Commits EXECUTING with one more attempt, before the call is sent. `childId`: the child run that the call waits for.
 * `token`: see OwnAttempt; needed by a writer that may not learn whether this was written.
 */
export function startCall(
  id: string,
  proof: Proof,
  { childId, leaseMs, token }: { childId?: string; leaseMs?: number; token?: string } = {},
  returning?: SQL,
): SQL {
  const values: CallValues = {
    status: 'EXECUTING',
    attempt: sql`t.attempt + 1`,
    attempts: attemptBegins(token),
    startedAt: sql`coalesce(t.started_at, now())`,
    notBefore: null,
    childId,
    wakeAt: leaseMs === undefined ? undefined : nowPlus(leaseMs),
  }
  return move('start', [id], proof, values, nothing, returning)
}

/** Gives a call that has waited to its client, which has `waitMs` from now. */
export function offerCall(id: string, waitMs: number, proof: Proof): SQL {
  return move('offer', [id], proof, {
    status: 'AWAITING_CLIENT',
    deadlineAt: nowPlus(waitMs),
    notBefore: null,
  })
}

/** A call of no generation that its caller runs: see `calls/permission.ts`. */
const isCallers = sql`t.kind = 'client' and t.generation_id is null`

/** Claims a call that may run for the caller that runs it: its row is held for `leaseMs`, and whoever held it loses it. */
export function takeCall(id: string, leaseMs: number): SQL {
  const values = { ...nextEpoch, wakeAt: nowPlus(leaseMs) }
  return touch([id], ['PROPOSED', 'APPROVED'], isCallers, values, wholeRow)
}

/** Leaves a call that may run to its caller, who has `waitMs` to take it from the first time on. */
export function keepForCaller(id: string, waitMs: number, proof: Proof): SQL {
  const until = sql`coalesce(t.deadline_at, ${nowPlus(waitMs)})`
  const values = { ...nextEpoch, deadlineAt: until, wakeAt: until }
  return touch([id], ['PROPOSED', 'APPROVED'], proof, values)
}

/** The program that asked about the call waits for so long from now. */
export function noteWaiting(id: string, waitMs: number): SQL {
  const values = { callerWaitsUntil: nowPlus(waitMs) }
  return touch([id], ['PROPOSED', 'AWAITING_APPROVAL', 'APPROVED'], isCallers, values)
}

/** Gives a call that was begun to its caller, who has `waitMs` to say how it ended; then its outcome is unknown. */
export function handOver(id: string, waitMs: number, proof: Proof): SQL {
  const values = { ...nextEpoch, deadlineAt: nowPlus(waitMs), wakeAt: nowPlus(waitMs) }
  return touch([id], ['EXECUTING'], proof, values, wholeRow)
}

/** A condition: none of these calls is settled or waits for a child run. It keeps a call from starting twice. */
export function mayStart(ids: readonly string[]): SQL {
  return sql`not exists (
    select 1 from tool_calls as t where t.id in ${[...ids]} and (t.settled_at is not null or t.child_id is not null))`
}

/** Settles calls with their results. A late outcome, or one that a person states, does not change `settled_at`. */
export function settleCalls<Name extends SettlingTransition>(
  name: Name,
  outcomes: readonly CallOutcome<Name>[],
  proof: Proof,
  also: CallValues = {},
  returning?: SQL,
): SQL {
  const rows = outcomes.map(({ id, epoch, status, result, outputHash, masked }) => ({
    id,
    ...(epoch === undefined ? {} : { epoch }),
    status,
    result,
    errorCode: codeOf(result),
    outputHash,
    masked,
  }))
  const wasSettled = name === 'settleLate' || name === 'resolve'
  const ended = name === 'settleLate' ? attemptEndsLate : attemptEnds
  return move(
    name,
    sql`t.id = x.id`,
    proof,
    {
      status: sql`x.status`,
      result: sql`x.result`,
      isError: sql`(x.result->>'isError')::boolean`,
      errorCode: sql`x.error_code`,
      outputHash: sql`coalesce(x.output_hash, t.output_hash)`,
      masked: sql`coalesce(x.masked, t.masked)`,
      attempts: name === 'resolve' ? undefined : ended(sql`x.status`, sql`x.error_code`),
      settledAt: wasSettled ? undefined : sql`now()`,
      notBefore: null,
      wakeAt: null,
      asked: null,
      // What a person let run again, and is unknown again, is resolved by nobody.
      resolution: wasSettled ? undefined : sql`case when x.status <> 'UNKNOWN' then t.resolution end`,
      ...also,
    },
    sql`from ${recordset(toolCalls, rows)}`,
    returning,
  )
}

/**
 * Part over `a(tool_call_id, status, of_login)`, approvals that were settled: calls whose approval expired become EXPIRED.
 * `ofLogin`: the result of those that waited for a login.
 */
export function expireCalls(result: ToolResult, ofLogin: ToolResult): SQL {
  const either = (some: SQL, other: SQL) => sql`case when a.of_login then ${other} else ${some} end`
  return move(
    'expire',
    sql`t.id = a.tool_call_id`,
    sql`a.status = 'EXPIRED' and t.approval_id = a.id`,
    {
      status: 'EXPIRED',
      result: either(jsonb(result), jsonb(ofLogin)),
      isError: true,
      errorCode: either(sql`${codeOf(result)}::text`, sql`${codeOf(ofLogin)}::text`),
      settledAt: sql`now()`,
    },
    sql`from a`,
  )
}

/** The columns that an edit of the arguments changes. */
export function editOf(edit: EditedCall | null): CallValues {
  return edit ? { arguments: edit.own, editedKeys: edit.keys, masked: edit.masked } : {}
}

/** Edits the arguments of calls that keep waiting for their approval. */
export function editCall(which: Which, edit: EditedCall): SQL {
  return touch(which, transitions.approve.from, underLock, editOf(edit))
}

/** What becomes of the own row of a call that an approval lets run: it is due now, or claimed for `leaseMs`. */
type Wake = 'due' | { leaseMs: number } | null

function woken(wake: Wake): CallValues {
  if (wake === null || wake === 'due') return wake ? dueNow : {}
  return { ...nextEpoch, wakeAt: nowPlus(wake.leaseMs) }
}

/** Lets the calls run, or passes them to the client, which has `waitMs`. */
export function approveCall(
  which: Which,
  to: 'APPROVED' | 'AWAITING_CLIENT',
  more: { edit: EditedCall | null; waitMs: number | null; wake: Wake },
): SQL {
  return move('approve', which, underLock, {
    ...editOf(more.edit),
    status: to,
    ...woken(more.wake),
    deadlineAt: more.waitMs === null ? undefined : nowPlus(more.waitMs),
  })
}

/**
 * Stops an approved call again, because its tool has changed. `approvalId`: the approval that covers the changed
 * tool.
 */
export function askAgain(
  id: string,
  asked: { approvalId: string; toolVersion: number; definitionHash: string | null; masked?: string[][] },
  proof: Proof,
): SQL {
  return move('askAgain', [id], proof, {
    status: 'AWAITING_APPROVAL',
    ...asked,
    ...nextEpoch,
    notBefore: null,
    wakeAt: null,
  })
}

/**
 * Stops a call that was begun and certainly not acted on, until the person for whom it is made has logged in. Over the bridge
 * the same request finds it by `requestHash`. Does nothing when the caller has cancelled the call.
 */
export function askLogin(
  id: string,
  asked: { approvalId: string; toolVersion: number; definitionHash: string | null },
  requestHash: string | null,
  proof: Proof,
  isOwnRow: boolean,
): SQL {
  return move('askLogin', [id], sql`${proof} and t.cancel_requested_at is null`, {
    status: 'AWAITING_APPROVAL',
    ...asked,
    ...(requestHash === null
      ? {}
      : { awaited: true, requestHash: sql`coalesce(t.request_hash, ${requestHash}::text)` }),
    ...(isOwnRow ? { ...nextEpoch, wakeAt: null } : {}),
    attempts: attemptEnds(sql`'AWAITING_APPROVAL'::text`, sql`'login_required'::text`),
  })
}

/**
 * Parks a call whose upstream requires input; the caller has `waitMs`. Does nothing when the caller has cancelled the
 * call.
 */
export function askCaller(id: string, asked: CallerQuestion, waitMs: number, proof: Proof): SQL {
  return move('askCaller', [id], sql`${proof} and t.cancel_requested_at is null`, {
    status: 'AWAITING_CLIENT',
    asked,
    ...nextEpoch,
    wakeAt: nowPlus(waitMs),
    deadlineAt: nowPlus(waitMs),
    attempts: attemptEnds(sql`'AWAITING_CLIENT'::text`, sql`null::text`),
  })
}

/** Stores the caller's responses. With `leaseMs` none is missing: the call is EXECUTING, and the writer sends it on. */
export function answerCaller(id: string, asked: CallerQuestion, leaseMs: number | null): SQL {
  if (leaseMs === null) return touch([id], transitions.answerCaller.from, underLock, { asked }, wholeRow)
  return move(
    'answerCaller',
    [id],
    underLock,
    {
      asked,
      status: 'EXECUTING',
      attempt: sql`t.attempt + 1`,
      attempts: attemptBegins(),
      ...nextEpoch,
      deadlineAt: null,
      wakeAt: nowPlus(leaseMs),
    },
    nothing,
    wholeRow,
  )
}

/**
 * Stores what a person says about an UNKNOWN call: settles it with `result`; without one the call is due to run
 * again.
 */
export function resolveCall(
  id: string,
  said: { resolution: Resolution; by: string; result: ToolResult | null },
): SQL {
  const values = { resolution: said.resolution, resolvedBy: said.by, resolvedAt: sql`now()` }
  const { result } = said
  if (!result)
    return move('runAgain', [id], underLock, { ...values, ...dueNow, status: 'PROPOSED' }, nothing, wholeRow)
  const status = result.isError ? 'ERRORED' : 'SUCCEEDED'
  return settleCalls('resolve', [{ id, status, result }], underLock, values, wholeRow)
}

/**
 * A rate limit delays the call by `ms`. In a generation the owner schedules it; outside, the call's own row is
 * released.
 */
export function holdBack(id: string, ms: number, proof: Proof, isOwnRow: boolean): SQL {
  const values = isOwnRow ? { ...nextEpoch, wakeAt: nowPlus(ms) } : { notBefore: nowPlus(ms) }
  return touch([id], ['PROPOSED', 'APPROVED'], proof, values)
}

/** A pause delays the call until it ends: see `wakeCallsOf`. One that lost its worker is sent again after that. */
export function park(id: string, proof: Proof, isOwnRow: boolean): SQL {
  const values = isOwnRow ? { ...nextEpoch, wakeAt: nowPlus(parkedMs) } : {}
  return touch([id], mayBeDelayed, proof, {
    ...values,
    notBefore: nowPlus(parkedMs),
  })
}

/** Selects as `id` the open generations of a project with calls that are delayed. */
export function delayedRuns(projectId: string): SQL {
  return sql`select distinct t.generation_id as id
    from tool_calls as t
    where t.not_before is not null
      and t.status in ${list(mayBeDelayed)}
      and t.generation_id in (
        select id from generations where project_id = ${projectId} and status in ('QUEUED', 'RUNNING', 'WAITING')
      )`
}

/** Takes the delays of these generations' calls away; call it under their locks: a worker may be about to wait for them. */
export function wakeCallsOf(generationIds: readonly string[]): SQL {
  const delayed = sql`t.generation_id in ${[...generationIds]} and t.not_before is not null`
  return touch(delayed, mayBeDelayed, underLock, { notBefore: null })
}

/** Takes the delays of a project's calls away that have rows of their own, which makes them due. */
export function wakeDirectCalls(projectId: string): SQL {
  const parked = sql`(t.generation_id is null or t.settled_at is not null) and t.project_id = ${projectId} and t.wake_at > now()
    and t.not_before is not null`
  return touch(parked, mayBeDelayed, underLock, { ...dueNow, notBefore: null })
}

const mayBeDelayed: readonly ToolCallStatus[] = ['PROPOSED', 'APPROVED', 'EXECUTING']

/** Clears the wake-up of a row that needs none: the call is settled, or its approval wakes it. */
export function forgetWake(id: string, proof: Proof): SQL {
  const due = list(['PROPOSED', 'APPROVED', 'EXECUTING', 'AWAITING_CLIENT'])
  return touch([id], null, sql`${proof} and t.status not in ${due}`, { wakeAt: null })
}

/** The caller has the outcome: the same request is a new call from now on. */
export function noteFetched(id: string): SQL {
  return touch([id], null, underLock, { awaited: false })
}

/** The outcome did not arrive after all: the same request finds it. */
export function noteNotFetched(id: string): SQL {
  return touch([id], null, sql`t.settled_at is not null and t.request_hash is not null`, { awaited: true })
}

/** The caller asks a running call to stop. */
export function noteCancelRequested(id: string): SQL {
  const values = { cancelRequestedAt: sql`coalesce(t.cancel_requested_at, now())`, awaited: false }
  return touch([id], null, sql`t.settled_at is null`, values)
}

/** A condition on a call of this alias: it waits or runs, be it that a person lets it run again, which is settled and yet runs. */
export function hasNoOutcome(alias: 'c' | 't'): SQL {
  return sql`${sql.raw(alias)}.status in ${list(openStatuses)}`
}

/** Deletes calls that have an outcome, with the rest of what they belong to. Returns the id of each. */
export function deleteCalls(which: SQL): SQL {
  return sql`delete from tool_calls as t where ${which} and not ${hasNoOutcome('t')} returning t.id`
}

function move(
  name: TransitionName,
  which: Which,
  proof: Proof,
  values: CallValues,
  from: SQL = nothing,
  returning: SQL = onlyId,
): SQL {
  return touch(which, transitions[name].from, proof, values, returning, from)
}

/** The update that all others use. `statuses`: required status before the change; null for any. */
function touch(
  which: Which,
  statuses: readonly ToolCallStatus[] | null,
  proof: Proof,
  values: CallValues,
  returning: SQL = onlyId,
  from: SQL = nothing,
): SQL {
  return sql`update tool_calls as t
    set ${assignments(toolCalls, values)}
    ${from}
    where ${which instanceof SQL ? which : sql`t.id in ${[...which]}`}
      and ${statuses ? sql`t.status in ${list(statuses)}` : sql`true`}
      and ${proof}
    returning ${returning}`
}

/** Statuses as literals, so that the planner can use partial indexes by them. */
function list(statuses: readonly ToolCallStatus[]): SQL {
  return sql.raw(`(${statuses.map((status) => `'${status}'`).join(', ')})`)
}
