/** An outcome that arrives after the call was reported as UNKNOWN, because its sender was slower than its lease. */
import { setTimeout as pause } from 'node:timers/promises'
import { errorResult } from '../../core/content.ts'
import { query } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { isRefused } from '../../store/db/storage-error.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { insertEntries } from '../audit/index.ts'
import { publishNews, systemId, type Services } from '../access/index.ts'
import { insertProjectEvents, unknownCallResolved, withRequester } from '../events/index.ts'
import {
  executedEntry,
  isNewest,
  isOpen,
  mayHaveRun,
  provesNewest,
  settleCalls,
  toolCallOf,
  type OwnAttempt,
  type ToolCall,
} from '../tool-calls/index.ts'
import { unsent, type Finished } from '../tools/index.ts'

/**
 * How long the worker that takes the row over may need to write UNKNOWN: so many lease durations, and so many
 * milliseconds until it polls. Only time in which the database answers counts.
 */
const patienceLeases = 3
const patienceMs = 5000
const everyMs = 250
/** A database that is unreachable for longer is not waited for, in milliseconds. */
const longestMs = 60 * 60_000

/** The outcome of a call that was certainly not sent, by no attempt. */
export const notSent = unsent(
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
export async function settleLate(services: Services, own: OwnAttempt, late: Finished): Promise<void> {
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
  { result }: Finished,
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
