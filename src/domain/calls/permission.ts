/**
 * Permissions: a program asks before it runs a call itself, such as a coding agent its shell. The call has the states of every
 * call: whoever takes the permission begins it, once, and says how it ended; otherwise its outcome is unknown.
 */
import { z } from 'zod'
import { text, whole } from '../../core/check.ts'
import { errorResult, textResult, type ToolResult } from '../../core/content.ts'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { hashJson, isJsonObject, jsonTooBig, writeJson, type Json } from '../../core/json.ts'
import { choice, idOf, idShape, json, optional, part, scalar } from '../../core/shapes.ts'
import { momentNow } from '../../core/time.ts'
import { StaleReadError } from '../basis/index.ts'
import { query } from '../../store/db/database.ts'
import { writtenRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { LeaseLostError } from '../../store/work/work.ts'
import { assertMay, operation, publishNews, type Ctx } from '../access/index.ts'
import { insertEntries } from '../audit/index.ts'
import { insertProjectEvents, withRequester } from '../events/index.ts'
import {
  callSettled,
  executedEntry,
  findDirectCall,
  loadCall,
  newestAttempt,
  noteWaiting,
  settleCalls,
  takeCall,
  ToolCall,
  toolCallOf,
  underLock,
  wholeRow,
} from '../tool-calls/index.ts'
import { finish } from '../tools/index.ts'
import { saysStop } from '../approvals/index.ts'
import { begin, runCreated } from './call.ts'
import { directStore } from './direct-store.ts'
import { execute } from './execute.ts'
import { callPayload } from './pass-gate.ts'
import { settleLate } from './settle.ts'
import { waitForCall } from './wait.ts'

const permission = choice('PermissionAnswer', 'Whether a program may run a call that it asked about.', {
  ALLOW: 'The call may run now, once, with the arguments of toolCall: no later request for it is allowed.',
  DENY: 'The call must not run; reason says why.',
  WAIT: 'No approver has decided yet, or a pause holds the call: ask again with the same idempotencyKey.',
})

/** The answer to a program that asks, and the call as it is then. */
export interface PermissionAnswer {
  toolCall: ToolCall
  answer: z.output<typeof permission>
  reason: string | null
  /** Whoever denied it told the program to stop. */
  stop: boolean
}

const question = z.object({
  toolId: idShape('The id of a tool of kind client; it begins with tool_.'),
  arguments: scalar('JSONObject', z.unknown()).describe(
    'The arguments of the call that the program wants to run.',
  ),
  idempotencyKey: text(200, 1).describe(
    'A text that names this call of the program: a repeat is the same question, and gets ALLOW only if no request has had it.',
  ),
})

/** How long a request of GraphQL may wait, in seconds. */
const mostSeconds = 60

export const askPermission = operation({
  name: 'askPermission',
  does:
    'Asks whether the caller may run a call of a client tool itself. The gate of the tool decides, or a person; ALLOW is given ' +
    'once, and reportToolCall says how the call ended.',
  permission: 'tools:Call',
  input: question
    .extend({
      waitSeconds: optional(
        whole(0, mostSeconds).describe(`How long to wait for a decision, in seconds: 0 to ${mostSeconds}.`),
        '0',
      ),
    })
    .describe('The call that a program wants to run.'),
  payload: part('PermissionPayload', 'Whether the call may run.', {
    toolCall: ToolCall.describe(
      'The tool call; with ALLOW its arguments are those that may run, which a person may have edited.',
    ),
    answer: permission.describe('Whether the call may run.'),
    reason: z.string().nullable().describe('Why the call must not run; null with ALLOW and WAIT.'),
    stop: z
      .boolean()
      .describe('Whether the person who denied the call wants the program to end its session.'),
  }),
  refuses: ['NOT_FOUND', 'IDEMPOTENCY_CONFLICT', 'LIMITED'],
  run: (ctx, { waitSeconds, ...given }) => answerQuestion(ctx, given, { maxMs: (waitSeconds ?? 0) * 1000 }),
})

/** How a program waits for its answer. */
export interface Asker {
  /** How long it waits, in milliseconds. */
  maxMs: number
  /** Fires when it has gone: then no permission is given any more. */
  signal?: AbortSignal | undefined
  /** Why it cannot run the call as it was approved; null when it can. */
  whyNot?(approved: ToolCall): string | null
}

/** The answer of `askPermission` to a program. */
export async function answerQuestion(
  ctx: Ctx,
  given: z.output<typeof question>,
  { maxMs, signal, whyNot }: Asker,
): Promise<PermissionAnswer> {
  const { request, created } = await begin(ctx, given, given, 'caller')
  if (created.lease) {
    const begun = await runCreated(ctx, request, created)
    return begun.status === 'EXECUTING' ? hand(ctx, begun, signal) : answerOf(begun)
  }
  const call = await waitNoted(ctx, created.call, { maxMs, signal })
  if (signal?.aborted || !isTakeable(call)) return answerOf(call)
  const reason = whyNot?.(call) ?? null
  if (reason !== null) return { toolCall: call, answer: 'DENY', reason, stop: false }
  const taken = await takePermission(ctx, call.id)
  return taken ? hand(ctx, taken, signal) : answerOf(await loadCall(ctx.db, call.id))
}

const notTold = errorResult(
  'client_gone',
  'The program had gone before it was told that the call may run. It was not run: ask about a new call.',
)

/** Gives the permission to a program that is still there. One that has gone was told nothing: its call has not run. */
async function hand(ctx: Ctx, call: ToolCall, signal: AbortSignal | undefined): Promise<PermissionAnswer> {
  if (!signal?.aborted) return { toolCall: call, answer: 'ALLOW', reason: null, stop: false }
  return answerOf(await report(ctx, call, notTold))
}

/** Approvers see until when the program waits; one that is cut off waits no longer. */
async function waitNoted(ctx: Ctx, call: ToolCall, { maxMs, signal }: Asker): Promise<ToolCall> {
  if (maxMs === 0 || isDecided(call)) return call
  await query(ctx.db, noteWaiting(call.id, maxMs))
  const seen = await waitForCall(ctx, call, { maxMs, signal, enough: isDecided })
  if (signal?.aborted) await query(ctx.db, noteWaiting(call.id, 0))
  return seen
}

const isTakeable = ({ status, notBefore }: ToolCall): boolean =>
  status === 'APPROVED' || (status === 'PROPOSED' && notBefore === null)
const isDecided = (call: ToolCall): boolean =>
  isTakeable(call) || (call.status !== 'AWAITING_APPROVAL' && call.status !== 'PROPOSED')

/** The answer about a call that this request has not got. */
function answerOf(toolCall: ToolCall): PermissionAnswer {
  const { status, result, errorCode } = toolCall
  if (!isDecided(toolCall) || isTakeable(toolCall))
    return { toolCall, answer: 'WAIT', reason: null, stop: false }
  const wasTaken = ['EXECUTING', 'SUCCEEDED', 'UNKNOWN'].includes(status) || errorCode === clientFailed
  const reason = wasTaken
    ? `The permission for this call was given before, and is given once: its status is ${status}. Ask about a new call.`
    : (reasonIn(result) ?? `The call was not allowed: its status is ${status}.`)
  return { toolCall, answer: 'DENY', reason, stop: !wasTaken && saysStop(result) }
}

/** What the person, or the server, says in a result. */
function reasonIn(result: ToolResult | null): string | null {
  const { error } = (result?.structuredContent ?? {}) as { error?: { message?: unknown } }
  if (typeof error?.message === 'string') return error.message
  const texts = (result?.content ?? []).flatMap((block) => (block.type === 'text' ? block.text : []))
  return texts.length > 0 ? texts.join('\n') : null
}

/** Begins an approved call for the request that asks; null when another one has it, or it is not what was approved. */
async function takePermission(ctx: Ctx, id: string): Promise<ToolCall | null> {
  if (ctx.heartbeat.isClosed())
    throw new AppError('LIMITED', 'This server stops. Nothing was allowed: ask again.', {
      retryAfterMs: 1000,
    })
  const since = momentNow()
  const [row] = await writtenRows(ctx.db, toolCalls, [sql`g as (${takeCall(id, ctx.limits.leaseMs)})`])
  if (!row) return null
  const lease = ctx.heartbeat.of('tool_calls').keep({ id, epoch: row.epoch }, since)
  try {
    const call = await execute(ctx, toolCallOf(row), {
      store: directStore(ctx, lease),
      lease,
      signal: new AbortController().signal,
      isFresh: false,
      trace: { parent: ctx.trace },
      gates: [],
      isLeftToNext: () => false,
    })
    return call?.status === 'EXECUTING' ? call : null
  } catch (error) {
    // Of two at once, one has it.
    if (error instanceof LeaseLostError || error instanceof StaleReadError) return null
    throw error
  } finally {
    lease.end()
  }
}

/** The code of a call that was run and reported as failed. */
const clientFailed = 'client_failed'
/** Of the output in a report. */
export const reportLimits = { maxBytes: 1024 * 1024, maxDepth: 100 }

/** CONFLICT for a call that was not taken, or that has another outcome. The same report again changes nothing. */
export const reportToolCall = operation({
  name: 'reportToolCall',
  does: 'Says how a call ended that askPermission has allowed. Without a report in 24 hours its outcome is UNKNOWN.',
  permission: 'tools:Call',
  input: z
    .object({
      toolCallId: idOf('toolCall', 'tool call'),
      output: json().nullish().describe('The output of the call: a text or any JSON value, at most 1 MiB.'),
      isError: optional(z.boolean().describe('Whether the call failed; output then says why.'), 'false'),
    })
    .describe('The outcome of an allowed call.'),
  payload: callPayload,
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { toolCallId, output, isError }) {
    const call = await findDirectCall(ctx, toolCallId)
    if (call.requestedBy !== ctx.principal.id || call.kind !== 'client')
      throw notFound('tool call', toolCallId)
    await assertMay(ctx, 'tools:Call', call.projectId, `tool/${call.toolId}`, { by: call.requestedBy })
    const given = (output ?? null) as Json
    const tooBig = jsonTooBig(given, reportLimits)
    if (tooBig) throw invalidAt(['input', 'output'], tooBig)
    return { toolCall: await reportOutcome(ctx, call, given, isError === true), callbackSecret: null }
  },
})

/** Settles a call that its caller has run. CONFLICT as for `reportToolCall`; checks no permission. */
export function reportOutcome(ctx: Ctx, call: ToolCall, output: Json, isError: boolean): Promise<ToolCall> {
  return report(ctx, call, resultOf(output, isError))
}

function resultOf(output: Json, isError: boolean): ToolResult {
  if (isError)
    return errorResult(clientFailed, typeof output === 'string' ? output : 'The call failed.', { output })
  const result = textResult(typeof output === 'string' ? output : writeJson(output))
  return isJsonObject(output) ? { ...result, structuredContent: output } : result
}

async function report(ctx: Ctx, call: ToolCall, result: ToolResult): Promise<ToolCall> {
  const status = result.isError ? 'ERRORED' : 'SUCCEEDED'
  const { projectId, requestedBy } = call
  const [row] = await writtenRows(ctx.db, toolCalls, [
    sql`g as (${settleCalls('report', [{ id: call.id, status, result }], underLock, {}, wholeRow)})`,
    sql`e as (${insertProjectEvents(projectId, withRequester(requestedBy, [callSettled(call, status)]), sql`g`)})`,
    sql`a as (${insertEntries([executedEntry(call, status)])})`,
  ])
  if (row) {
    publishNews(ctx, projectId)
    return toolCallOf(row)
  }
  // Nobody knew what had become of it, perhaps since a moment ago: now the program says so.
  const seen = await loadCall(ctx.db, call.id)
  if (seen.status === 'UNKNOWN') await settleLate(ctx, newestAttempt(seen), finish(result))
  const now = await loadCall(ctx.db, call.id)
  if (now.attempt > 0 && hashJson(now.result) === hashJson(result)) return now
  throw new AppError('CONFLICT', `The call takes no report: its status is ${now.status}.`, {
    conflictingId: call.id,
  })
}
