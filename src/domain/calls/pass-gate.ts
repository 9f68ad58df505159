/** A call at the gate: sent at once, let through by a grant, stopped with its question, or found to wait there already. */
import { and, desc, eq, sql } from 'drizzle-orm'
import { nowPlus, query, type Database } from '../../store/db/database.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import type { NewEvent } from '../../store/events/log.ts'
import type { Ctx } from '../access/index.ts'
import { covers, findGrants, insertApprovals, newApproval, requested, takeUse } from '../approvals/index.ts'
import { newAttempt, toolCallOf, type Callable, type Requirement, type ToolCall } from '../tools/index.ts'
import { requestHash, requirementOf, whole, type Order, type Via } from './order.ts'
import { started } from './row.ts'

type Row = typeof toolCalls.$inferInsert
type GateRow = Partial<Row> & { status: string }

/** How the call's row begins: sent at once, let through by a grant, or stopped with its question beside it. */
export async function passGate(
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

/** The columns of a call that whoever places it sends at once. */
export function sent(ctx: Ctx, tool: Callable, id: string, grantId: string | null): GateRow {
  const row = {
    status: 'EXECUTING',
    attempt: 1,
    attempts: sql`jsonb_build_array(${newAttempt(sql`1`, sql`${id}::text`)})`,
    grantId,
    startedAt: sql`now()`,
    wakeAt: nowPlus(ctx.limits.leaseMs),
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
  const question = newApproval(ctx, {
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

/** How long an outcome that was not fetched is what the same request gets, counted from the moment it was settled. */
const awaitedMs = 24 * 60 * 60 * 1000

/** The caller's same request that still waits, or whose outcome it has not fetched within a day. */
async function findAwaited(tx: Database, ctx: Ctx, order: Order, via: Via): Promise<ToolCall | null> {
  const t = toolCalls
  const hash = requestHash(order, via)
  const [row] = await tx
    .select()
    .from(t)
    .where(
      and(
        eq(t.requestedBy, ctx.principal.id),
        eq(t.requestHash, hash),
        sql`awaited and (settled_at is null or settled_at > ${nowPlus(-awaitedMs)})`,
      ),
    )
    .orderBy(desc(t.createdAt))
    .limit(1)
  return row ? toolCallOf(row) : null
}
