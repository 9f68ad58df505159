/**
 * Writes outcomes: those of the same moment with one statement, each under the lease of its call, and those that come
 * after it.
 */
import { writeJson } from '../../core/json.ts'
import { batchStatements } from '../../store/db/fast-statements.ts'
import { writtenRows, selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import type { HeldRow } from '../../store/work/work.ts'
import { type Services, publishNews, systemId } from '../access/index.ts'
import { insertEntriesOf, insertEntries } from '../audit/index.ts'
import {
  eventColumns,
  insertEventRows,
  toolCallSettled,
  insertProjectEvents,
  unknownCallResolved,
  withRequester,
} from '../events/index.ts'
import {
  executedEntry,
  lockHeldCalls,
  settleCalls,
  toolCallOf,
  underOwnLeases,
  wholeRow,
  type ToolCall,
  isNewest,
  isOpen,
  mayHaveRun,
  provesNewest,
  type OwnAttempt,
} from '../tool-calls/index.ts'
import { statusOf, type FinishedCall, notStored, finishUnsent } from '../tools/index.ts'
import { isRefused } from '../../store/db/storage-error.ts'
import { setTimeout as pause } from 'node:timers/promises'
import { errorResult } from '../../core/content.ts'
import { query } from '../../store/db/database.ts'

/** The outcome of a call that is EXECUTING under this lease. */
export interface Ending {
  call: ToolCall
  held: HeldRow
  finished: FinishedCall
}

type Uses = Pick<Services, 'db' | 'leaseDb'>

/** Writes one outcome as `settleAll` does, with others of the same moment. */
export const settleHeld = batchStatements(settleAll, ({ finished }: Ending) => sizeOf(finished))

function sizeOf({ result }: FinishedCall): number {
  return writeJson(result).length
}

/**
 * Writes the outcomes with their events and audit entries, each if its lease holds and nobody has locked the call; it waits
 * for nothing. Null for a call of which it wrote nothing. An error of the connection does not tell whether it did.
 */
async function settleAll({ leaseDb }: Uses, parts: readonly Ending[]): Promise<(ToolCall | null)[]> {
  const outcomes = parts.map(({ call: { id }, held: { epoch }, finished }) => ({
    id,
    epoch,
    status: statusOf(finished),
    result: finished.result,
  }))
  const entries = parts.map(({ call, finished }) => ({
    of: call.id,
    entry: executedEntry(call, statusOf(finished)),
  }))
  const rows = await writtenRows(leaseDb, toolCalls, [
    sql`o as (${lockHeldCalls(parts.map(({ held }) => held))})`,
    sql`g as (${settleCalls('settle', outcomes, underOwnLeases, {}, wholeRow)})`,
    sql`e as (${insertEventRows(settledEvents)})`,
    sql`a as (${insertEntriesOf(entries)})`,
  ])
  const settled = new Map(rows.map((row) => [row.id, toolCallOf(row)]))
  return parts.map(({ call }) => settled.get(call.id) ?? null)
}

const settledEvents = sql`select project_id, null::text as generation_id, null::int as seq,
  ${eventColumns(toolCallSettled, {
    toolCallId: sql`g.id`,
    name: sql`g.runtime_name`,
    status: sql`g.status`,
  })}, g.requested_by
  from g`

/**
 * Settles the call with its outcome; when the database refuses that, with what can be told without it. Nothing is sent again
 * for it. Throws when the database refuses that as well.
 */
export async function settleStorable<Settled>(
  { log }: Pick<Services, 'log'>,
  call: ToolCall,
  finished: FinishedCall,
  settle: (finished: FinishedCall) => Promise<Settled>,
): Promise<Settled> {
  try {
    return await settle(finished)
  } catch (error) {
    if (!isRefused(error)) throw error
    log.error({ err: error, callId: call.id }, 'the database refused to store the outcome of a call')
    return settle(notStored(finished))
  }
}

/**
 * How long the worker that takes the row over may need to write UNKNOWN: so many lease durations, and so many
 * milliseconds until it polls. Only time in which the database answers counts.
 */
const patienceLeases = 3
const patienceMs = 5000
const everyMs = 250
/** A database that is unreachable for longer is not waited for, in milliseconds. */
const longestMs = 60 * 60_000

/** The result of a call that its caller withdrew while it ran. */
export const withdrawn = errorResult('cancelled', 'The caller withdrew this call.')

/** The outcome of a call that was certainly not sent, by no attempt. */
export const notSent = finishUnsent(
  errorResult(
    'not_sent',
    'The server could not hold on to this call until it was sent; it was not run. Try again.',
  ),
)

/**
 * Settles this attempt if the call is UNKNOWN, with event and audit entry, in one statement; waits for UNKNOWN while
 * another worker holds the call, and while the database is unreachable. Does nothing when the newest attempt is not this
 * one, when the call was settled otherwise or a person has resolved it, or with `notSent` when an earlier attempt may
 * have run. Never throws.
 */
export async function settleLate(services: Services, own: OwnAttempt, late: FinishedCall): Promise<void> {
  if (late.outcome === 'unknown') return
  const until = performance.now() + longestMs
  let reads = Math.ceil((patienceLeases * services.limits.leaseMs + patienceMs) / everyMs)
  while (reads > 0 && performance.now() < until) {
    try {
      const [row] = await selectRows(services.leaseDb, toolCalls, sql`where id = ${own.id}`)
      const call = row ? toolCallOf(row) : null
      if (!call || !isNewest(own, call)) return
      if (late === notSent && mayHaveRun(call)) return
      if (call.status === 'UNKNOWN') return void (await settleUnknown(services, call, own, late))
      if (!isOpen(call)) return
      reads -= 1
    } catch (error) {
      if (isRefused(error))
        return services.log.error({ err: error, callId: own.id }, 'a late outcome could not be stored')
      services.log.warn({ err: error, callId: own.id }, 'writing a late outcome failed; it is tried again')
    }
    await pause(everyMs, undefined, { ref: false })
  }
}

async function settleUnknown(
  services: Services,
  call: ToolCall,
  own: OwnAttempt,
  { result }: FinishedCall,
): Promise<void> {
  const status = result.isError ? 'ERRORED' : 'SUCCEEDED'
  const outcome = result.isError ? 'FAILED' : 'SUCCEEDED'
  const facts = { toolCallId: call.id, name: call.runtimeName }
  const event = unknownCallResolved({ ...facts, outcome, decidedBy: systemId, late: true })
  const ofAttempt = sql`t.resolution is null and ${provesNewest(own)}`
  const rows = await query(
    services.leaseDb,
    sql`with g as (${settleCalls('settleLate', [{ id: call.id, status, result }], ofAttempt)}),
      e as (${insertProjectEvents(call.projectId, withRequester(call.requestedBy, [event]), sql`g`)}),
      a as (${insertEntries([executedEntry(call, status, { late: true })])})
      select 1 from g`,
  )
  if (rows.length > 0) publishNews(services, call.projectId)
}
