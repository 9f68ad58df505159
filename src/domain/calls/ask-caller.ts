/**
 * Input that an upstream requires from the caller of a call (MCP 2026-07-28, multi round-trip requests): the call is
 * parked, answered and sent again.
 */
import { AppError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { momentNow, type Moment } from '../../core/time.ts'
import { atomically, query } from '../../store/db/database.ts'
import { selectRows, writtenRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { type Lease, whenAnswered } from '../../store/work/leases.ts'
import type { HeldRow } from '../../store/work/work.ts'
import { publishNews, type Ctx, type Services } from '../access/index.ts'
import { insertProjectEvents, withRequester } from '../events/index.ts'
import {
  answerCaller,
  askCaller,
  callStarted,
  loadCall,
  toolCallOf,
  underLease,
  type CallerQuestion,
  type ToolCall,
} from '../tool-calls/index.ts'
import { finish } from '../tools/index.ts'
import type { InputRequired } from '../upstream/index.ts'
import { settleOnce, isPaused } from './direct-store.ts'
import { withdrawn } from './settle.ts'

/** How long the caller has for its responses, in milliseconds. */
const answerMs = 10 * 60 * 1000

/**
 * Parks a call until its caller responds, and returns the call as written. Settles a call that its caller has
 * withdrawn.
 */
export function parkForCaller(
  services: Services,
  held: HeldRow,
  call: ToolCall,
  { inputRequests, requestState }: InputRequired,
): Promise<ToolCall> {
  const round = (call.asked?.round ?? 0) + 1
  const asked = { inputRequests: ourKeys(inputRequests, round), requestState, answers: {}, round }
  const park = async () => {
    const rows = await query(services.db, askCaller(call.id, asked, answerMs, underLease(held)))
    if (rows.length === 0 && (await loadCall(services.db, call.id)).cancelRequestedAt)
      return settleOnce(services, held, call, finish(withdrawn))
    publishNews(services, call.projectId)
    return loadCall(services.db, call.id)
  }
  return whenAnswered(park, services.limits.leaseMs, true)
}

/**
 * Adds the caller's responses. Returns null when some are missing or nothing is asked any more; else the call is
 * EXECUTING again, and the caller of this function sends it under the returned lease. LIMITED while a pause holds the call:
 * nothing is written.
 */
export async function continueCall(
  ctx: Ctx,
  { id, projectId }: ToolCall,
  answers: JsonObject,
): Promise<{ call: ToolCall; asked: CallerQuestion; lease: Lease; begunAt: Moment } | null> {
  const since = momentNow()
  const continued = await atomically(ctx.db, async (tx) => {
    const [row] = await selectRows(
      tx,
      toolCalls,
      sql`where id = ${id} and status = 'AWAITING_CLIENT' for update`,
    )
    const before = row && toolCallOf(row)
    if (!before?.asked) return null
    if (await isPaused(tx, before))
      throw new AppError('LIMITED', 'This tool is paused. Send the responses again later.', {
        retryAfterMs: 60_000,
      })
    const asked = withAnswers(before.asked, answers)
    const isComplete = Object.keys(asked.inputRequests).every((key) => Object.hasOwn(asked.answers, key))
    const [changed] = await writtenRows(tx, toolCalls, [
      sql`g as (${answerCaller(id, asked, isComplete ? ctx.limits.leaseMs : null)})`,
      ...(isComplete
        ? [
            sql`e as (${insertProjectEvents(projectId, withRequester(before.requestedBy, [callStarted(before, before.attempt + 1)]), sql`g`)})`,
          ]
        : []),
    ])
    return isComplete ? { row: changed!, asked } : null
  })
  publishNews(ctx, projectId)
  if (!continued) return null
  const { row, asked } = continued
  return {
    call: toolCallOf(row),
    asked,
    begunAt: since,
    lease: ctx.heartbeat.of('tool_calls').keep({ id, epoch: row.epoch }, since),
  }
}

function withAnswers(asked: CallerQuestion, answers: JsonObject): CallerQuestion {
  const given = Object.entries(answers).filter(([key]) => Object.hasOwn(asked.inputRequests, key))
  return { ...asked, answers: { ...asked.answers, ...Object.fromEntries(given) } }
}

/**
 * Keys are unique within a call: those of later rounds carry the number of the round, whatever keys the upstream
 * uses.
 */
function ourKeys(requests: JsonObject, round: number): JsonObject {
  if (round === 1) return requests
  return Object.fromEntries(Object.entries(requests).map(([key, value]) => [`${key}#${round}`, value]))
}

/** The responses, under the upstream's own keys. */
export function responsesOf({ answers, round }: CallerQuestion): JsonObject {
  if (round === 1) return answers
  const end = `#${round}`
  return Object.fromEntries(Object.entries(answers).map(([key, value]) => [key.slice(0, -end.length), value]))
}
