/** Placing a call outside any generation: the intent or the question is committed, or an earlier call is joined. */
import { sql } from 'drizzle-orm'
import { newId } from '../../core/ids.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { writtenRows } from '../../store/db/rows.ts'
import { appendProjectEvents, insertProjectEvents } from '../../store/events/log.ts'
import { entryOf, recordChange, rememberRequest, type AuditedChange, type Ctx } from '../access/index.ts'
import { insertEntries } from '../audit/index.ts'
import { loadCall, maskedPaths, toolCallOf, type ToolCall } from '../tools/index.ts'
import { requestHash, requirementOf, type Order } from './order.ts'
import { passGate, sent } from './pass-gate.ts'
import { ringNews, started } from './row.ts'

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
