/** What a tool call is: one request to run a tool, inside a generation or outside. */
import { and, eq, sql } from 'drizzle-orm'
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import type { Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/keyset.ts'
import { selectRows } from '../../store/db/rows.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { assertMay, projectOf, reaches, type Ctx } from '../access/index.ts'
import type { GatePolicy } from './gate.ts'
import type { ToolKind } from './tool.ts'

/** The first five are open, the others are settled. */
export const toolCallStatuses = [
  'PROPOSED',
  'AWAITING_APPROVAL',
  'APPROVED',
  'EXECUTING',
  'AWAITING_CLIENT',
  'SUCCEEDED',
  'ERRORED',
  'INVALID',
  'UNKNOWN',
  'REJECTED',
  'EXPIRED',
  'SKIPPED',
  'CANCELLED',
] as const
export type ToolCallStatus = (typeof toolCallStatuses)[number]

const open = new Set<ToolCallStatus>([
  'PROPOSED',
  'AWAITING_APPROVAL',
  'APPROVED',
  'EXECUTING',
  'AWAITING_CLIENT',
])

/** Whether somebody waits for its outcome. A call that a person lets run again is settled, and runs all the same. */
export function isOpen(call: Pick<ToolCall, 'status' | 'settledAt'>): boolean {
  return call.settledAt === null && open.has(call.status)
}

/** One time that a call was sent. Without an outcome it is under way, or was left behind by a process that went away. */
export interface ToolCallAttempt {
  /** Counts from 1. */
  attempt: number
  /** What the outside world heard as Idempotency-Key. */
  idempotencyKey: string
  /** ISO 8601. */
  startedAt: string
  endedAt?: string
  outcome?: ToolCallStatus
  errorCode?: string | null
}

/** What a person says of a call whose outcome is unknown. */
export const resolutions = ['SUCCEEDED', 'FAILED', 'RUN_AGAIN'] as const
export type Resolution = (typeof resolutions)[number]

export interface ToolCall {
  id: string
  projectId: string
  generationId: string | null
  stepIndex: number | null
  callIndex: number | null
  providerCallId: string | null
  source: 'GENERATION' | 'DIRECT' | 'BRIDGE'
  toolId: string | null
  toolVersion: number | null
  runtimeName: string
  kind: ToolKind | null
  status: ToolCallStatus
  /** Without presets; null when the model wrote no legal JSON. */
  arguments: JsonObject | null
  rawArguments: string | null
  /** Times the call was sent. */
  attempt: number
  result: ToolResult | null
  isError: boolean | null
  errorCode: string | null
  outputHash: string | null
  requestedBy: string
  /** For a call over the bridge: through which agent, its gate then, and in which conversation. */
  agentId: string | null
  agentGate: GatePolicy | null
  threadId: string | null
  requestHash: string | null
  /** It was stopped at the gate, and its caller has not fetched the outcome yet. */
  awaited: boolean
  callerGoneAt: Date | null
  cancelRequestedAt: Date | null
  /** Each time it was sent, oldest first. */
  attempts: ToolCallAttempt[]
  approvalId: string | null
  grantId: string | null
  /** Arguments that an approver changed, by name. */
  editedKeys: string[] | null
  /** Places in the arguments that are never shown. */
  masked: string[][] | null
  resolution: Resolution | null
  resolvedBy: string | null
  resolvedAt: Date | null
  deadlineAt: Date | null
  startedAt: Date | null
  settledAt: Date | null
  createdAt: Date
}

export function toolCallOf(row: typeof toolCalls.$inferSelect): ToolCall {
  const { wakeAt: _wakeAt, epoch: _epoch, ...rest } = row
  return rest as ToolCall
}

/** Calls by id, null for what does not exist for the caller. Action `toolCalls:Get` on each. */
export async function getToolCalls(ctx: Ctx, ids: readonly string[]): Promise<(ToolCall | null)[]> {
  const rows = ids.length > 0 ? await selectRows(ctx.db, toolCalls, sql`where id in ${[...ids]}`) : []
  const found = new Map(rows.map((row) => [row.id, toolCallOf(row)]))
  return Promise.all(
    ids.map(async (id) => {
      const call = found.get(id)
      if (!call || !reaches(ctx, call.projectId)) return null
      await assertMay(ctx, 'toolCalls:Get', call.projectId, `toolCall/${id}`)
      return call
    }),
  )
}

/** Calls of a project, newest first, all or of one status or tool. Action `toolCalls:List`. */
export async function listToolCalls(
  ctx: Ctx,
  input: { projectId?: string | null; status?: string | null; toolId?: string | null; page: Page },
): Promise<ToolCall[]> {
  const projectId = projectOf(ctx, input.projectId)
  await assertMay(ctx, 'toolCalls:List', projectId, 'toolCall/*')
  // The status stands in the text so that the planner can use the partial index on UNKNOWN.
  const where = and(
    input.status === 'UNKNOWN'
      ? sql`status = 'UNKNOWN'`
      : input.status
        ? eq(toolCalls.status, input.status)
        : undefined,
    input.toolId ? eq(toolCalls.toolId, input.toolId) : undefined,
  )
  return (await listPage(ctx.db, toolCalls, projectId, input.page, where)).map(toolCallOf)
}

/** The calls of some generations in step and call order. Checks nothing. */
export async function loadCallsOf(db: Database, generationIds: readonly string[]): Promise<ToolCall[]> {
  if (generationIds.length === 0) return []
  const rows = await selectRows(
    db,
    toolCalls,
    sql`where generation_id in ${[...generationIds]} order by generation_id, step_index, call_index`,
  )
  return rows.map(toolCallOf)
}
