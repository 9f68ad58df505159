/** Placing a call outside any generation: the intent or the question is committed, or an earlier call is joined. */
import { and, desc, eq, sql } from 'drizzle-orm'
import { newId } from '../../core/ids.ts'
import { hashJson, type JsonObject } from '../../core/json.ts'
import { atomically, nowPlus, query, type Database } from '../../store/db/database.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { writtenRows } from '../../store/db/rows.ts'
import { appendProjectEvents, insertProjectEvents, type NewEvent } from '../../store/events/log.ts'
import type { Attachment } from '../files/index.ts'
import { entryOf, recordChange, rememberRequest, type AuditedChange, type Ctx } from '../access/index.ts'
import { insertEntries } from '../audit/index.ts'
import { covers, findGrants, insertApprovals, newApproval, requested, takeUse } from '../approvals/index.ts'
import {
  gateOf,
  judgeGate,
  loadCall,
  maskedPaths,
  newAttempt,
  timeoutOf,
  toolCallOf,
  withAttachments,
  type GatePolicy,
  type Prepared,
  type Requirement,
  type Callable,
  type Caller,
  type ToolCall,
} from '../tools/index.ts'
import { leaseMarginMs, ringNews, started } from './row.ts'

/** Through which agent a call came over the bridge. */
export interface Via {
  agentId: string
  /** It can only make the tool's own gate stricter. */
  agentGate: GatePolicy | null
  threadId: string | null
}

/** A call that has been checked and is allowed. */
export interface Order {
  tool: Callable
  prepared: Extract<Prepared, { ok: true }>
  attachments: readonly Attachment[] | null
  /** A repeat with the same key and request joins; with another request it is a conflict. */
  memory: { operation: string; key: string; request: unknown } | null
  /** Null for a direct call. */
  via: Via | null
  /** Who can hear and be asked while it runs. */
  caller?: Caller | null
}

export interface Placed {
  call: ToolCall
  /** Somebody placed it before; whoever did runs it. */
  joined: boolean
}

/**
 * Commits the call as EXECUTING, to be sent by whoever placed it, or as AWAITING_APPROVAL with its question. A repeat
 * of the same key answers the first call; so does, over the bridge and without a key, the same request of the same
 * caller while the first waits for a person or its outcome was not fetched.
 */
export async function placeCall(ctx: Ctx, order: Order): Promise<Placed> {
  const id = newId('toolCall')
  const { projectId } = order.tool
  if (!order.memory && !requirementOf(order)) {
    const call = await placeAtOnce(ctx, order, id)
    ringNews(ctx, projectId)
    return { call, joined: false }
  }
  const placed = await atomically(ctx.db, async (tx) => {
    const earlier = order.memory && (await remembered(tx, ctx, projectId, order.memory, id))
    if (earlier) return { call: await loadCall(tx, earlier), joined: true }
    const gate = await passGate(tx, ctx, order, id)
    if ('known' in gate) return { call: gate.known, joined: true }
    const [row] = await tx
      .insert(toolCalls)
      .values({ ...rowOf(ctx, order, id), ...gate.row })
      .returning()
    if (order.prepared.dropped.length > 0) await recordChange(tx, ctx, droppedOf(order, id))
    await appendProjectEvents(tx, projectId, [gate.event])
    return { call: toolCallOf(row!), joined: false }
  })
  if (!placed.joined) ringNews(ctx, projectId)
  return placed
}

/** A call that nothing holds back and nobody repeats: row, event and audit in one statement. */
async function placeAtOnce(ctx: Ctx, order: Order, id: string): Promise<ToolCall> {
  const { tool, prepared } = order
  const values = { ...rowOf(ctx, order, id), ...sent(ctx, tool, id, null) }
  const insert = ctx.db.insert(toolCalls).values(values).returning()
  const event = started(id, tool.runtimeName, 1)
  const [row] = await writtenRows(ctx.db, toolCalls, [
    sql`g as (${insert.getSQL()})`,
    sql`e as (${insertProjectEvents(tool.projectId, [event])})`,
    ...(prepared.dropped.length > 0
      ? [sql`a as (${insertEntries([entryOf(ctx, droppedOf(order, id))])})`]
      : []),
  ])
  return toolCallOf(row!)
}

/** What the audit tells of preset keys that had no effect. */
function droppedOf({ tool, prepared }: Order, id: string): AuditedChange {
  return {
    projectId: tool.projectId,
    action: 'tools:Call',
    resource: `tool/${tool.id}`,
    details: { toolCallId: id, droppedPresetKeys: prepared.dropped },
  }
}

function remembered(
  tx: Database,
  ctx: Ctx,
  projectId: string,
  { operation, key, request }: NonNullable<Order['memory']>,
  id: string,
): Promise<string | null> {
  const who = { projectId, principalId: ctx.principal.id, operation, key }
  return rememberRequest(tx, { ...who, request }, id)
}

function rowOf(ctx: Ctx, order: Order, id: string) {
  const { tool, prepared, via, attachments } = order
  const args = prepared.arguments
  return {
    id,
    projectId: tool.projectId,
    source: via ? 'BRIDGE' : 'DIRECT',
    toolId: tool.id,
    toolVersion: tool.version,
    runtimeName: tool.runtimeName,
    kind: tool.kind,
    action: tool.action,
    definitionHash: tool.definitionHash,
    arguments: args,
    masked: maskedPaths(tool.inputSchema, args),
    requestedBy: ctx.principal.id,
    agentId: via?.agentId ?? null,
    agentGate: via?.agentGate ?? null,
    threadId: via?.threadId ?? null,
    attachments: attachments?.length ? attachments : null,
    requestHash: via ? requestHash(order, via) : null,
  }
}

function requestHash({ tool, prepared, attachments }: Order, { agentId, threadId }: Via): string {
  return hashJson([agentId, threadId, tool.runtimeName, prepared.arguments, attachments ?? []])
}

/** What is judged and agreed to. */
function whole({ prepared, attachments }: Order): JsonObject {
  return withAttachments(prepared.merged, attachments)
}

type Row = typeof toolCalls.$inferInsert
type GateRow = Partial<Row> & { status: string }

function requirementOf(order: Order): Requirement | null {
  const { tool, via } = order
  const policies = via?.agentGate ? [gateOf(tool), via.agentGate] : [gateOf(tool)]
  return judgeGate(policies, whole(order))
}

/** How the call's row begins: sent at once, let through by a grant, or stopped with its question beside it. */
async function passGate(
  tx: Database,
  ctx: Ctx,
  order: Order,
  id: string,
): Promise<{ known: ToolCall } | { row: GateRow; event: NewEvent }> {
  const { tool, via } = order
  const { runtimeName } = tool
  const requirement = requirementOf(order)
  if (requirement) {
    const known = via && !order.memory ? await findAwaited(tx, ctx, order, via) : null
    if (known) return { known }
    const grantId = await takeGrant(tx, ctx, order, requirement)
    if (!grantId) return stopped(tx, ctx, order, id, requirement)
    return { row: sent(ctx, tool, id, grantId), event: started(id, runtimeName, 1) }
  }
  return { row: sent(ctx, tool, id, null), event: started(id, runtimeName, 1) }
}

function sent(ctx: Ctx, tool: Callable, id: string, grantId: string | null): GateRow {
  const row = {
    status: 'EXECUTING',
    attempt: 1,
    attempts: sql`jsonb_build_array(${newAttempt(sql`1`, sql`${id}::text`)})`,
    grantId,
    startedAt: sql`now()`,
    wakeAt: nowPlus(timeoutOf(ctx, tool) + leaseMarginMs),
  }
  return row as never
}

async function stopped(
  tx: Database,
  ctx: Ctx,
  order: Order,
  id: string,
  requirement: Requirement,
): Promise<{ row: GateRow; event: NewEvent }> {
  const { tool, via } = order
  const question = newApproval({
    toolCallId: id,
    tool,
    merged: whole(order),
    requirement,
    onApprove: 'RUN',
    clientTimeoutMs: null,
    requestedBy: ctx.principal.id,
  })
  await query(
    tx,
    sql`with g as (select null::text as id, ${tool.projectId}::text as project_id,
      ${via?.agentId ?? null}::text as agent_id, ${via?.threadId ?? null}::text as thread_id)
      ${insertApprovals([question])}`,
  )
  const row = { status: 'AWAITING_APPROVAL', approvalId: question.id, awaited: via !== null }
  return { row, event: requested(question) }
}

async function takeGrant(
  tx: Database,
  ctx: Ctx,
  order: Order,
  requirement: Requirement,
): Promise<string | null> {
  const { tool, via } = order
  const holder = {
    agentId: via?.agentId ?? null,
    threadId: via?.threadId ?? null,
    requestedBy: ctx.principal.id,
  }
  const grants = await findGrants(tx, [tool.id], holder)
  return takeUse(
    tx,
    grants.filter((grant) => covers(grant, { tool, merged: whole(order), requirement })),
  )
}

async function findAwaited(tx: Database, ctx: Ctx, order: Order, via: Via): Promise<ToolCall | null> {
  const t = toolCalls
  const hash = requestHash(order, via)
  const [row] = await tx
    .select()
    .from(t)
    .where(and(eq(t.requestedBy, ctx.principal.id), eq(t.requestHash, hash), sql`awaited`))
    .orderBy(desc(t.createdAt))
    .limit(1)
  return row ? toolCallOf(row) : null
}
