/** Placing a call outside any generation: the intent or the question is committed, or an earlier call is joined. */
import { sql } from 'drizzle-orm'
import { newId } from '../../core/ids.ts'
import { momentNow } from '../../core/stopwatch.ts'
import { atomically, isUniqueViolation, type Database } from '../../store/db/database.ts'
import { isStorageError, isUnavailable } from '../../store/db/storage-error.ts'
import type { Lease } from '../../store/work/leases.ts'
import { whenAnswered } from '../../store/work/read-back.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { selectRows, writtenRows } from '../../store/db/rows.ts'
import { appendProjectEvents, insertProjectEvents } from '../../store/events/log.ts'
import {
  assertUse,
  entryOf,
  recordChange,
  rememberRequest,
  requesterOf,
  type AuditedChange,
  type Ctx,
} from '../access/index.ts'
import { insertEntries } from '../audit/index.ts'
import { loadCall, maskedPaths, toolCallOf, type ToolCall } from '../tools/index.ts'
import { requestHash, requirementOf, type Order } from './order.ts'
import { passGate, sent } from './pass-gate.ts'
import { publishNews, started } from './row.ts'

export interface Placed {
  call: ToolCall
  /** Somebody placed it before; whoever did runs it. */
  joined: boolean
  /** The hold on a call that is to be sent now, by whoever placed it; null else. */
  lease: Lease | null
}

/**
 * Commits the call as EXECUTING, to be sent by whoever placed it, or as AWAITING_APPROVAL with its question. A repeat
 * of the same key answers the first call; so does, over the bridge and without a key, the same request of the same
 * caller while the first waits for a person or its outcome was not fetched.
 */
export async function placeCall(ctx: Ctx, order: Order): Promise<Placed> {
  const id = newId('toolCall')
  const since = momentNow()
  const atOnce = !order.memory && !requirementOf(order)
  const place = atOnce ? () => placeAtOnce(ctx, order, id) : () => placeWhole(ctx, order, id)
  const { projectId, id: toolId } = order.tool
  await assertUse(ctx, 'TOOL', projectId, toolId)
  const placed = await placeSurely(ctx, id, place)
  if (!placed.joined) publishNews(ctx, order.tool.projectId)
  const isSent = !placed.joined && placed.call.status === 'EXECUTING'
  // A repeat is no use of the tool, and one that waits for a person is used when it runs.
  if (!isSent) await ctx.rates.giveBackUse(projectId, 'TOOL', toolId)
  return { ...placed, lease: isSent ? ctx.callLeases.keep({ id, epoch: 0 }, since) : null }
}

type Standing = Omit<Placed, 'lease'>

/**
 * When the answer of the database is lost, the row says whether the call was placed: the same id is never placed twice,
 * and nobody else can have taken it up within the time that this tries.
 */
async function placeSurely(ctx: Ctx, id: string, place: () => Promise<Standing>): Promise<Standing> {
  const patienceMs = ctx.limits.leaseMs / 2
  const start = performance.now()
  for (;;) {
    try {
      return await place()
    } catch (error) {
      const lost = isStorageError(error) && (isUnavailable(error) || isUniqueViolation(error))
      if (!lost || performance.now() - start > patienceMs) throw error
    }
    const [row] = await whenAnswered(
      () => selectRows(ctx.leaseDb, toolCalls, sql`where id = ${id}`),
      patienceMs,
    )
    if (row) return { call: toolCallOf(row), joined: false }
  }
}

function placeWhole(ctx: Ctx, order: Order, id: string): Promise<Standing> {
  const { projectId } = order.tool
  return atomically(ctx.db, async (tx) => {
    const earlier = order.memory && (await remembered(tx, ctx, projectId, order.memory, id))
    if (earlier) return { call: await loadCall(tx, earlier), joined: earlier !== id }
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
}

/** A call that nothing holds back and nobody repeats: row, event and audit in one statement. */
async function placeAtOnce(ctx: Ctx, order: Order, id: string): Promise<Standing> {
  const { tool, prepared } = order
  const values = { ...rowOf(ctx, order, id), ...sent(ctx, tool, id, null) }
  const insert = ctx.db.insert(toolCalls).values(values).returning()
  const event = started(id, tool.runtimeName, 1)
  const [row] = await writtenRows(ctx.db, toolCalls, [
    sql`g as (${insert.getSQL()})`,
    sql`e as (${insertProjectEvents(tool.projectId, [event], sql`g`)})`,
    ...(prepared.dropped.length > 0
      ? [sql`a as (${insertEntries([entryOf(ctx, droppedOf(order, id))])})`]
      : []),
  ])
  return { call: toolCallOf(row!), joined: false }
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
    requester: requesterOf(ctx.principal),
    agentId: via?.agentId ?? null,
    agentGate: via?.agentGate ?? null,
    threadId: via?.threadId ?? null,
    attachments: attachments?.length ? attachments : null,
    requestHash: via ? requestHash(order, via) : null,
  }
}
