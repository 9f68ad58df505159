/** The row of a call that no generation works on: read, marked as sent, settled. */
import { sql } from 'drizzle-orm'
import type { ToolResult } from '../../core/content.ts'
import { notFound } from '../../core/errors.ts'
import { atomically, nowPlus } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { appendProjectEvents, type NewEvent } from '../../store/events/log.ts'
import type { Held } from '../../store/work/work.ts'
import { record } from '../audit/index.ts'
import { reachable, type Ctx, type House } from '../access/index.ts'
import { attemptBegins, attemptEnds, codeOf, loadCall, toolCallOf, type ToolCall } from '../tools/index.ts'

/** The lease of a call that a request waits for is its timeout and this, so nobody takes a call that can still be running. */
export const leaseMarginMs = 15_000

/** The call when it exists for the caller and belongs to no generation, else NOT_FOUND. Checks no permission. */
export async function findCall(ctx: Ctx, id: string): Promise<ToolCall> {
  const [row] = await selectRows(ctx.db, toolCalls, sql`where id = ${id}`)
  const call = toolCallOf(reachable(ctx, row, 'tool call', id))
  if (call.generationId !== null || call.toolId === null) throw notFound('tool call', id)
  return call
}

export function started(toolCallId: string, name: string, attempt: number): NewEvent {
  return { type: 'TOOL_CALL_STARTED', data: { toolCallId, name, attempt } }
}

/** Commits that a claimed call is sent now; null when it is not ours any more. The worker keeps the lease. */
export async function markSent(house: House, held: Held): Promise<ToolCall | null> {
  const t = toolCalls
  const sent = await atomically(house.db, async (tx) => {
    const [row] = await tx
      .update(t)
      .set({
        status: 'EXECUTING',
        attempt: sql`${t.attempt} + 1`,
        attempts: attemptBegins(sql`id`),
        startedAt: sql`coalesce(${t.startedAt}, now())`,
        wakeAt: nowPlus(house.limits.leaseMs),
      })
      .where(
        sql`${t.id} = ${held.id} and ${t.epoch} = ${held.epoch} and ${t.status} in ('PROPOSED', 'APPROVED', 'EXECUTING')`,
      )
      .returning()
    if (!row) return null
    await appendProjectEvents(tx, row.projectId, [started(row.id, row.runtimeName, row.attempt)])
    return toolCallOf(row)
  })
  if (sent) ringNews(house, sent.projectId)
  return sent
}

/** Writes the outcome if the call is still ours, with its event and audit entry; answers the call as it stands. */
export async function settle(
  house: House,
  held: Held,
  call: ToolCall,
  result: ToolResult,
  as?: 'UNKNOWN',
): Promise<ToolCall> {
  const status = as ?? (result.isError ? 'ERRORED' : 'SUCCEEDED')
  const { projectId, id } = call
  const errorCode = codeOf(result)
  const t = toolCalls
  const settled = await atomically(house.db, async (tx) => {
    const [row] = await tx
      .update(t)
      .set({
        status,
        result,
        isError: result.isError,
        errorCode,
        attempts: attemptEnds(sql`${status}::text`, sql`${errorCode}::text`),
        settledAt: sql`now()`,
        wakeAt: null,
      })
      .where(
        sql`${t.id} = ${held.id} and ${t.epoch} = ${held.epoch} and ${t.status} in ('EXECUTING', 'APPROVED', 'PROPOSED')`,
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
      details: { toolCallId: id, status, attempt: row.attempt },
    })
    return toolCallOf(row)
  })
  ringNews(house, projectId)
  return settled
}

export function ringNews(house: Pick<House, 'bell'>, projectId: string): void {
  house.bell.ring([{ kind: 'news', projectId, generationId: null, seq: null }])
}
