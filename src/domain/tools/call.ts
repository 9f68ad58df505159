/** The direct call: a tool run outside any generation, with the same life as a call inside one. */
import { eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { errorResult, type ToolResult } from '../../core/content.ts'
import { invalid, invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { atomically, nowPlus, query, type Database } from '../../store/db/database.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { appendProjectEvents } from '../../store/events/log.ts'
import type { Held } from '../../store/work/work.ts'
import { assertMay, recordChange, rememberRequest, type Ctx, type House } from '../access/index.ts'
import { record } from '../audit/index.ts'
import { prepareCall } from './prepare.ts'
import { findTool, loadVersion } from './registry.ts'
import { runTool, timeoutOf } from './run.ts'
import { isIdempotent, type Tool } from './tool.ts'
import { isOpen, toolCallOf, type ToolCall } from './tool-call.ts'

/** The lease of a direct call is its timeout and this, so nobody takes a call that can still be running. */
const leaseMarginMs = 15_000

const shape = z.object({
  toolId: z.string(),
  action: z.string().nullish(),
  arguments: z.unknown().optional(),
  idempotencyKey: text(200, 1).nullish(),
})

export interface CallToolInput {
  toolId: string
  action?: string | null
  arguments?: unknown
  idempotencyKey?: string | null
}

/**
 * Calls a tool and waits for its result. Action `tools:Call`. The call is committed as EXECUTING before anything is
 * sent. A tool that fails is a settled call with `isError`; only faults of the request are errors. With an
 * `idempotencyKey` a repeat joins the first call, running or done, and never runs again.
 */
export async function callTool(ctx: Ctx, input: CallToolInput): Promise<ToolCall> {
  const given = check(shape, input)
  const tool = await findTool(ctx, given.toolId)
  await assertMay(ctx, 'tools:Call', tool.projectId, `tool/${tool.id}`)
  if (tool.kind === 'client')
    throw invalidAt(
      ['input', 'toolId'],
      'is a client tool, which runs in the calling application and not here',
    )
  if (given.action)
    throw invalidAt(['input', 'action'], `is for mcp and platform tools; this is an ${tool.kind} tool`)
  const prepared = prepareCall(tool, given.arguments ?? {})
  if (!prepared.ok)
    throw invalid(prepared.issues.map((issue) => ({ ...issue, path: ['input', ...issue.path] })))
  const begun = await begin(ctx, tool, prepared.arguments, prepared.dropped, given.idempotencyKey ?? null)
  if (begun.joined) return waitUntilSettled(ctx.db, begun.call.id, timeoutOf(ctx, tool) + leaseMarginMs)
  const held = { id: begun.call.id, epoch: 0 }
  const signal = new AbortController().signal
  const run = {
    projectId: tool.projectId,
    definition: tool,
    merged: prepared.merged,
    callId: held.id,
    signal,
  }
  return settle(ctx, held, begun.call, await runTool(ctx, run))
}

/** Commits the intent, or finds the call that the same key began. */
async function begin(
  ctx: Ctx,
  tool: Tool,
  args: JsonObject,
  dropped: string[],
  key: string | null,
): Promise<{ call: ToolCall; joined: boolean }> {
  const id = newId('toolCall')
  const begun = await atomically(ctx.db, async (tx) => {
    if (key !== null) {
      const request = { toolId: tool.id, arguments: args }
      const who = { projectId: tool.projectId, principalId: ctx.principal.id, operation: 'tools:Call', key }
      const earlier = await rememberRequest(tx, { ...who, request }, id)
      if (earlier !== null) return { call: await loadCall(tx, earlier), joined: true }
    }
    const [row] = await tx
      .insert(toolCalls)
      .values({
        id,
        projectId: tool.projectId,
        source: 'DIRECT',
        toolId: tool.id,
        toolVersion: tool.version,
        runtimeName: tool.name,
        kind: tool.kind,
        status: 'EXECUTING',
        arguments: args,
        attempt: 1,
        requestedBy: ctx.principal.id,
        startedAt: sql`now()`,
        wakeAt: nowPlus(timeoutOf(ctx, tool) + leaseMarginMs),
      })
      .returning()
    if (dropped.length > 0)
      await recordChange(tx, ctx, {
        projectId: tool.projectId,
        action: 'tools:Call',
        resource: `tool/${tool.id}`,
        details: { toolCallId: id, droppedPresetKeys: dropped },
      })
    await appendProjectEvents(tx, tool.projectId, [started(id, tool.name, 1)])
    return { call: toolCallOf(row!), joined: false }
  })
  ringNews(ctx, tool.projectId)
  return begun
}

function started(toolCallId: string, name: string, attempt: number) {
  return { type: 'TOOL_CALL_STARTED', data: { toolCallId, name, attempt } }
}

/** Writes the outcome if the call is still ours, with its event and audit entry; answers the call as it stands. */
async function settle(
  house: House,
  held: Held,
  call: ToolCall,
  result: ToolResult,
  unknown = false,
): Promise<ToolCall> {
  const status = unknown ? 'UNKNOWN' : result.isError ? 'ERRORED' : 'SUCCEEDED'
  const { projectId, id } = call
  const settled = await atomically(house.db, async (tx) => {
    const [row] = await tx
      .update(toolCalls)
      .set({
        status,
        result,
        isError: result.isError,
        errorCode: codeOf(result),
        settledAt: sql`now()`,
        wakeAt: null,
      })
      .where(
        sql`${toolCalls.id} = ${held.id} and ${toolCalls.epoch} = ${held.epoch} and ${toolCalls.status} = 'EXECUTING'`,
      )
      .returning()
    if (!row) return loadCall(tx, id)
    const data = { toolCallId: id, name: call.runtimeName, status }
    await appendProjectEvents(tx, projectId, [{ type: 'TOOL_CALL_SETTLED', data }])
    await record(tx, {
      projectId,
      principalId: call.requestedBy,
      action: 'tools:Call',
      resource: `tool/${call.toolId ?? ''}`,
      outcome: 'EXECUTED',
      details: { toolCallId: id, status, attempt: call.attempt },
    })
    return toolCallOf(row)
  })
  ringNews(house, projectId)
  return settled
}

/** The code of a failed result, for lists and filters. */
export function codeOf(result: ToolResult): string | null {
  const error = (result.structuredContent as { error?: { code?: unknown } } | undefined)?.error
  return result.isError && typeof error?.code === 'string' ? error.code.slice(0, 100) : null
}

/** What the model or caller is told when nobody can know whether the call took effect. */
export function unknownResult(): ToolResult {
  return errorResult(
    'outcome_unknown',
    'The server stopped while this call was under way, so its outcome is unknown: it may have taken effect. ' +
      'It was not repeated. Check the other side before you try again.',
  )
}

/**
 * What the worker does with a direct call whose process went away: an idempotent one runs again under the same key,
 * any other becomes UNKNOWN and is never sent twice.
 */
export async function recoverDirectCall(house: House, held: Held, signal: AbortSignal): Promise<void> {
  const call = await loadCall(house.db, held.id)
  if (call.status !== 'EXECUTING' || call.toolId === null || call.toolVersion === null) return
  const definition = await loadVersion(house.db, call.toolId, call.toolVersion)
  const prepared = prepareCall(definition, call.arguments)
  if (!isIdempotent(definition) || !prepared.ok) {
    await settle(house, held, call, unknownResult(), true)
    return
  }
  const rows = await query<{ attempt: number }>(
    house.db,
    sql`update tool_calls set attempt = attempt + 1, wake_at = ${nowPlus(timeoutOf(house, definition) + leaseMarginMs)}
      where id = ${held.id} and epoch = ${held.epoch} returning attempt`,
  )
  if (!rows[0]) return
  await appendProjectEvents(house.db, call.projectId, [started(call.id, call.runtimeName, rows[0].attempt)])
  const run = { projectId: call.projectId, definition, merged: prepared.merged, callId: call.id, signal }
  await settle(house, held, { ...call, attempt: rows[0].attempt }, await runTool(house, run))
}

async function loadCall(db: Database, id: string): Promise<ToolCall> {
  const [row] = await db.select().from(toolCalls).where(eq(toolCalls.id, id))
  return toolCallOf(row!)
}

/** Looks until the call is settled or the time is over; answers it as it stands then. */
async function waitUntilSettled(db: Database, id: string, maxMs: number): Promise<ToolCall> {
  const until = Date.now() + maxMs
  for (let pauseMs = 20; ; pauseMs = Math.min(500, pauseMs * 2)) {
    const call = await loadCall(db, id)
    if (!isOpen(call.status) || Date.now() >= until) return call
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

function ringNews(house: House, projectId: string): void {
  house.bell.ring([{ kind: 'news', projectId, generationId: null, seq: null }])
}
