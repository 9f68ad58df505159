/**
 * The writes of a call that is its own work row. Each proves the epoch of its lease, and is tried again while the
 * database is unreachable.
 */
import { query, type Database, atomically } from '../../store/db/database.ts'
import { pausesOf, areFree, stillPaused, prove, StaleReadError, type Basis } from '../basis/index.ts'
import {
  targetsOf,
  type Pausable,
  callEnded,
  endOf,
  callStarted,
  executedEntry,
  handOver,
  holdBack,
  isOpen,
  loadCall,
  mayHaveRun,
  newestAttempt,
  park,
  settleCalls,
  startCall,
  toolCallOf,
  underLease,
  wholeRow,
  type ToolCall,
} from '../tool-calls/index.ts'
import { writtenRows } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { isOutage } from '../../store/db/storage-error.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { type Lease, afterOutage, readBack, whenAnswered } from '../../store/work/leases.ts'
import { lockOwners, ownerOf } from '../../store/work/owner.ts'
import { LeaseLostError, type HeldRow } from '../../store/work/work.ts'
import { publishNews, type Services } from '../access/index.ts'
import { changesOfDrift, changesOfLogin, type Drift, type NewApproval } from '../approvals/index.ts'
import { insertEntries } from '../audit/index.ts'
import { insertProjectEvents, withRequester } from '../events/index.ts'
import { finishUnsent, statusOf, type FinishedCall } from '../tools/index.ts'
import type { CallStore } from './execution.ts'
import { hashOfRequest } from './pass-gate.ts'
import { notSent, settleLate, settleHeld, settleStorable, withdrawn } from './settle.ts'

/** Whether a pause holds one of these now. */
export async function isPaused(db: Database, call: Pausable): Promise<boolean> {
  return (await query(db, pausesOf(targetsOf(call)))).length > 0
}

/**
 * The store for one execution. A call that was not sent is settled with an error that says so, unless an earlier
 * attempt may have run: then it stays EXECUTING, and who claims the row after the lease repeats it or reports UNKNOWN.
 */
export function directStore(services: Services, lease: Lease): CallStore<ToolCall> {
  const { held } = lease
  const settle = (call: ToolCall, finished: FinishedCall) =>
    settleStorable(services, call, finished, (told) => settleWithOutageRetry(services, held, call, told))
  return {
    start: (call, basis) => startWithOutageRetry(services, lease, call, basis),
    handOver: (call) => handToCaller(services, lease, call),
    settle,
    askAgain: (call, drift) => voidAndAskAgain(services, held, call, drift),
    askLogin: (call, question) => stopForLogin(services, held, call, question),
    async holdBack(call, waitMs) {
      await query(services.leaseDb, holdBack(call.id, waitMs, underLease(held), true))
    },
    park: (call) => parkOwn(services, held, call),
    isPaused: (call) => isPaused(services.leaseDb, call),
    onSend() {},
    notSent: async (call) => (mayHaveRun(call) ? null : settle(call, notSent)),
  }
}

/** Commits that the call is sent now. The worker keeps the lease. */
async function startWithOutageRetry(
  services: Services,
  lease: Lease,
  call: ToolCall,
  basis: Basis,
): Promise<ToolCall> {
  const { id, projectId, attempt } = call
  const proven = sql`${prove(basis) ?? sql`true`} and ${areFree(...targetsOf(call))}`
  for (let failures = 0; ; failures++) {
    const { epoch } = lease.held
    const fence = underLease(lease.held)
    const proof = sql`${fence} and ${proven}`
    try {
      const [row] = await writtenRows(services.leaseDb, toolCalls, [
        sql`g as (${startCall(id, proof, { leaseMs: services.limits.leaseMs }, wholeRow)})`,
        sql`e as (${insertProjectEvents(projectId, withRequester(call.requestedBy, [callStarted(call, attempt + 1)]), sql`g`)})`,
      ])
      if (!row) throw new StaleReadError()
      publishNews(services, projectId)
      return toolCallOf(row)
    } catch (error) {
      if (!isOutage(error)) throw error
    }
    const now = await readBack(lease, epoch, () => loadCall(services.leaseDb, id))
    if (now.status === 'EXECUTING' && now.attempt === attempt + 1) return now
    await afterOutage(failures)
  }
}

/** How long the caller who took a call has to say how it ended, in milliseconds. */
const reportMs = 24 * 60 * 60_000

/**
 * The call is its caller's from now on. When a pause came meanwhile, or this process does not hold the call any more, it is not:
 * then it is settled as one that was not run, unless another process has settled it.
 */
async function handToCaller(services: Services, { held }: Lease, call: ToolCall): Promise<ToolCall> {
  const proof = sql`${underLease(held)} and ${areFree(...targetsOf(call))}`
  const [row] = await writtenRows(services.leaseDb, toolCalls, [
    sql`g as (${handOver(call.id, reportMs, proof)})`,
  ])
  return row ? toolCallOf(row) : settleOnce(services, held, call, notSent)
}

/** Parks the call while a pause holds, and gives its row back. LeaseLostError when another worker has it. */
function parkOwn({ db }: Services, held: HeldRow, call: ToolCall): Promise<boolean> {
  return atomically(db, async (tx) => {
    const isHeld = sql`select 1 from tool_calls where id = ${held.id} and epoch = ${held.epoch} for update`
    if ((await query(tx, isHeld)).length === 0) throw new LeaseLostError(held.id)
    if (!(await stillPaused(tx, pausesOf(targetsOf(call))))) return false
    await query(tx, park(call.id, underLease(held), true))
    return true
  })
}

/** How long an outcome is kept in memory while the database is unreachable, in lease durations. */
const settleLeases = 8

/** Writes the outcome, even if the call was reported as UNKNOWN meanwhile. Returns the call as written. */
async function settleWithOutageRetry(
  services: Services,
  held: HeldRow,
  call: ToolCall,
  finished: FinishedCall,
): Promise<ToolCall> {
  const maxMs = settleLeases * services.limits.leaseMs
  let tries = 0
  const now = await whenAnswered(
    () => (tries++ === 0 ? settleAtFirst : settleOnce)(services, held, call, finished),
    maxMs,
    true,
  )
  if (now.attempt !== call.attempt || (now.status !== 'UNKNOWN' && !isOpen(now))) return now
  await settleLate(services, newestAttempt(call), finished)
  return loadCall(services.db, call.id)
}

/**
 * Together with outcomes of the same moment, when the call is one that runs. If that writes nothing, because the call is
 * locked or is not what it was, it is settled by itself; so is an UNKNOWN outcome, which has a second event.
 */
async function settleAtFirst(
  services: Services,
  held: HeldRow,
  call: ToolCall,
  finished: FinishedCall,
): Promise<ToolCall> {
  const isPlain = call.status === 'EXECUTING' && statusOf(finished) !== 'UNKNOWN'
  const settled = isPlain ? await settleHeld(services, { call, held, finished }) : null
  if (!settled) return settleOnce(services, held, call, finished)
  publishNews(services, call.projectId)
  return settled
}

/** The services that writing an outcome needs. */
export type Settler = Pick<Services, 'db' | 'leaseDb' | 'pubsub'>

/**
 * Writes the outcome with its event and audit entry in one statement, if the lease still holds. Idempotent. Returns
 * the call as it is afterwards.
 */
export async function settleOnce(
  services: Settler,
  held: HeldRow,
  call: ToolCall,
  finished: FinishedCall,
): Promise<ToolCall> {
  const status = statusOf(finished)
  const outcome = { id: call.id, status, result: finished.result }
  const [row] = await writtenRows(services.leaseDb, toolCalls, [
    sql`g as (${settleCalls(endOf(call.status, status), [outcome], underLease(held), {}, wholeRow)})`,
    sql`e as (${insertProjectEvents(call.projectId, withRequester(call.requestedBy, callEnded(call, status, finished.result)), sql`g`)})`,
    sql`a as (${insertEntries([executedEntry(call, status)])})`,
  ])
  if (!row) return loadCall(services.db, call.id)
  publishNews(services, call.projectId)
  return toolCallOf(row)
}

/**
 * Voids the approval and asks for a new one in the same statement, or settles the call when it cannot be asked about.
 */
async function voidAndAskAgain(
  services: Services,
  held: HeldRow,
  call: ToolCall,
  drift: Drift,
): Promise<void> {
  const changes = changesOfDrift(call, drift, underLease(held))
  const recorded = drift.again ? [] : [insertEntries([executedEntry(call, 'ERRORED')])]
  if (!(await writeQuestion(services, call, changes, recorded))) throw new LeaseLostError(held.id)
  publishNews(services, call.projectId)
}

/** Asks for the login; settles a call that its caller has withdrawn. Returns the call as it is afterwards. */
async function stopForLogin(
  services: Services,
  held: HeldRow,
  call: ToolCall,
  question: NewApproval,
): Promise<ToolCall> {
  const { agentId, runtimeName, arguments: args, attachments, actsFor } = call
  const asker = actsFor === null ? {} : { actsFor }
  const requestHash = agentId && hashOfRequest(asker, { agentId, runtimeName, args, attachments })
  const how = { requestHash, proof: underLease(held), isOwnRow: true }
  const ask = () => writeQuestion(services, call, changesOfLogin(call, question, how), [])
  const asked = await whenAnswered(ask, services.limits.leaseMs, true)
  if (asked) publishNews(services, call.projectId)
  else if ((await loadCall(services.db, call.id)).cancelRequestedAt)
    return settleOnce(services, held, call, finishUnsent(withdrawn))
  return loadCall(services.db, call.id)
}

/** False when nothing was written, because the call is not what it was or is held by another worker. */
async function writeQuestion(
  services: Services,
  call: ToolCall,
  changes: Pick<ReturnType<typeof changesOfDrift>, 'call' | 'approvals' | 'events'>,
  recorded: readonly SQL[],
): Promise<boolean> {
  const parts = [...changes.approvals, ...recorded].map((part, i) => sql`${sql.raw(`x${i}`)} as (${part})`)
  const rows = await atomically(services.db, async (tx) => {
    await lockOwners(tx, [ownerOf(call)])
    return query(
      tx,
      sql`with c as (${changes.call}),
        g as (
          select null::text as id, ${call.projectId}::text as project_id,
            ${call.agentId}::text as agent_id, ${call.threadId}::text as thread_id
          from c
        ),
        ${sql.join(parts, sql`, `)},
        e as (${insertProjectEvents(call.projectId, withRequester(call.requestedBy, changes.events), sql`g`)})
        select 1 from g`,
    )
  })
  return rows.length > 0
}
