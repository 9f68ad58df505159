/** The direct call: a tool run outside any generation, with the same life as a call inside one. */
import { sql } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { invalid, invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { atomically, nowPlus, query, type Database } from '../../store/db/database.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { appendProjectEvents, type NewEvent } from '../../store/events/log.ts'
import { assertMay, recordChange, rememberRequest, type Ctx } from '../access/index.ts'
import {
  covers,
  findGrants,
  insertApprovals,
  newApproval,
  requested,
  takeUse,
  type StoppedCall,
} from '../approvals/index.ts'
import {
  findTool,
  gateOf,
  isOpen,
  judgeGate,
  maskedPaths,
  newAttempt,
  prepareCall,
  runTool,
  timeoutOf,
  toolCallOf,
  type Prepared,
  type Tool,
  type ToolCall,
} from '../tools/index.ts'
import { leaseMarginMs, loadCall, ringNews, settle, started } from './row.ts'

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
 * sent. One that the gate stops is committed with its approval and answered at once, as AWAITING_APPROVAL; it runs when
 * somebody approves, on whichever replica. A tool that fails is a settled call with `isError`; only faults of the request
 * are errors. With an `idempotencyKey` a repeat joins the first call, pending, running or done, and never runs again.
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
  const begun = await begin(ctx, tool, prepared, given.idempotencyKey ?? null)
  if (begun.call.status === 'AWAITING_APPROVAL') return begun.call
  if (begun.joined) return waitUntilSettled(ctx.db, begun.call.id, timeoutOf(ctx, tool) + leaseMarginMs)
  const held = { id: begun.call.id, epoch: 0 }
  const run = {
    projectId: tool.projectId,
    definition: tool,
    merged: prepared.merged,
    callId: held.id,
    signal: new AbortController().signal,
  }
  return settle(ctx, held, begun.call, await runTool(ctx, run))
}

type Sound = Extract<Prepared, { ok: true }>

/** Commits the intent or the question, or finds the call that the same key began. */
async function begin(
  ctx: Ctx,
  tool: Tool,
  prepared: Sound,
  key: string | null,
): Promise<{ call: ToolCall; joined: boolean }> {
  const id = newId('toolCall')
  const { projectId } = tool
  const begun = await atomically(ctx.db, async (tx) => {
    if (key !== null) {
      const request = { toolId: tool.id, arguments: prepared.arguments }
      const who = { projectId, principalId: ctx.principal.id, operation: 'tools:Call', key }
      const earlier = await rememberRequest(tx, { ...who, request }, id)
      if (earlier !== null) return { call: await loadCall(tx, earlier), joined: true }
    }
    const gate = await passGate(tx, ctx, tool, prepared, id)
    const [row] = await tx
      .insert(toolCalls)
      .values({ ...rowOf(ctx, tool, prepared.arguments, id), ...gate.row })
      .returning()
    if (prepared.dropped.length > 0)
      await recordChange(tx, ctx, {
        projectId,
        action: 'tools:Call',
        resource: `tool/${tool.id}`,
        details: { toolCallId: id, droppedPresetKeys: prepared.dropped },
      })
    await appendProjectEvents(tx, projectId, [gate.event])
    return { call: toolCallOf(row!), joined: false }
  })
  ringNews(ctx, projectId)
  return begun
}

function rowOf(ctx: Ctx, tool: Tool, args: JsonObject, id: string) {
  return {
    id,
    projectId: tool.projectId,
    source: 'DIRECT',
    toolId: tool.id,
    toolVersion: tool.version,
    runtimeName: tool.name,
    kind: tool.kind,
    arguments: args,
    masked: maskedPaths(tool.inputSchema, args),
    requestedBy: ctx.principal.id,
  }
}

/** How the call's row begins: sent at once, let through by a grant, or stopped with its question beside it. */
async function passGate(
  tx: Database,
  ctx: Ctx,
  tool: Tool,
  { merged }: Sound,
  id: string,
): Promise<{
  row: Omit<typeof toolCalls.$inferInsert, keyof ReturnType<typeof rowOf>> & { status: string }
  event: NewEvent
}> {
  const requirement = judgeGate([gateOf(tool)], merged)
  const grantId = requirement ? await takeGrant(tx, ctx, { tool, merged, requirement }) : null
  if (requirement && !grantId) {
    const question = newApproval({
      toolCallId: id,
      runtimeName: tool.name,
      tool,
      merged,
      requirement,
      onApprove: 'RUN',
      clientTimeoutMs: null,
      requestedBy: ctx.principal.id,
    })
    await query(
      tx,
      sql`with g as (select null::text as id, ${tool.projectId}::text as project_id, null::text as agent_id,
        null::text as thread_id) ${insertApprovals([question])}`,
    )
    return { row: { status: 'AWAITING_APPROVAL', approvalId: question.id }, event: requested(question) }
  }
  const row = {
    status: 'EXECUTING',
    attempt: 1,
    attempts: sql`jsonb_build_array(${newAttempt(sql`1`, sql`${id}::text`)})`,
    grantId,
    startedAt: sql`now()`,
    wakeAt: nowPlus(timeoutOf(ctx, tool) + leaseMarginMs),
  }
  return { row: row as never, event: started(id, tool.name, 1) }
}

async function takeGrant(tx: Database, ctx: Ctx, call: StoppedCall): Promise<string | null> {
  const holder = { agentId: null, threadId: null, requestedBy: ctx.principal.id }
  const grants = await findGrants(tx, [call.tool.id], holder)
  return takeUse(
    tx,
    grants.filter((grant) => covers(grant, call)),
  )
}

/** Looks until the call is settled, stopped at the gate, or the time is over; answers it as it stands then. */
async function waitUntilSettled(db: Database, id: string, maxMs: number): Promise<ToolCall> {
  const until = Date.now() + maxMs
  for (let pauseMs = 20; ; pauseMs = Math.min(500, pauseMs * 2)) {
    const call = await loadCall(db, id)
    if (!isOpen(call) || call.status === 'AWAITING_APPROVAL' || Date.now() >= until) return call
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
