/** What a tool call is: one request to run a tool, inside a generation or outside. */
import { and, eq, sql, type SQL } from 'drizzle-orm'
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import type { Database } from '../../store/db/database.ts'
import { listPage, maxWholeBytes } from '../../store/db/keyset.ts'
import { rowsAsJson, rowsOfJson, selectRows, selectRowsWithin } from '../../store/db/rows.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import type { Attachment } from '../files/index.ts'
import { assertMay, eachSeen, projectOf, type Ctx, type Requester } from '../access/index.ts'
import type { GatePolicy } from './gate.ts'
import type { CallKind } from './tool.ts'

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

/** Questions of an upstream to its caller in the middle of a call (MCP 2026-07-28, multi round-trip requests). */
export interface AskedBack {
  /** By keys that are never used again within the call. */
  inputRequests: JsonObject
  /** What the upstream wants to have back. */
  requestState: string | null
  /** Answers so far, by the same keys. */
  answers: JsonObject
  /** Counts the times it asked. */
  round: number
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
  /** Of a call of an agent: that agent's id. */
  toolId: string | null
  toolVersion: number | null
  runtimeName: string
  kind: CallKind | null
  /** Which of the tool's actions; null where it has one name. */
  action: string | null
  /** What was said of the action when the call was proposed. */
  definitionHash: string | null
  /** The run of another agent that it waits for. */
  childId: string | null
  status: ToolCallStatus
  /** Without presets; null when the model wrote no legal JSON. */
  arguments: JsonObject | null
  rawArguments: string | null
  /** Files that came with it. */
  attachments: Attachment[] | null
  /** Times the call was sent. */
  attempt: number
  result: ToolResult | null
  isError: boolean | null
  errorCode: string | null
  outputHash: string | null
  requestedBy: string
  /** With which rights, when it was a person with a token; null for a key. */
  requester: Requester | null
  /** For a call over the bridge: through which agent, its gate then, and in which conversation. */
  agentId: string | null
  agentGate: GatePolicy | null
  threadId: string | null
  requestHash: string | null
  /** It was stopped at the gate, and its caller has not fetched the outcome yet. */
  awaited: boolean
  callerGoneAt: Date | null
  cancelRequestedAt: Date | null
  /** What an upstream wants to know from the caller before it goes on; null when it asks nothing. */
  asked: AskedBack | null
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
  /** A limit holds it back until then; it waits by itself. */
  notBefore: Date | null
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
  const rows = await loadCalls(ctx.db, ids)
  return eachSeen(
    ctx,
    ids,
    rows,
    'toolCalls:Get',
    ({ id }) => `toolCall/${id}`,
    ({ requestedBy }) => ({ by: requestedBy }),
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

/** A call that is known to exist. Checks nothing. */
export async function loadCall(db: Database, id: string): Promise<ToolCall> {
  const [row] = await selectRows(db, toolCalls, sql`where id = ${id}`)
  return toolCallOf(row!)
}

/** Calls by id, in no order. Checks nothing. */
export async function loadCalls(db: Database, ids: readonly string[]): Promise<ToolCall[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, toolCalls, sql`where id in ${[...ids]}`)).map(toolCallOf)
}

/** The calls of some generations in step and call order. Checks nothing. */
export async function loadCallsOf(db: Database, generationIds: readonly string[]): Promise<ToolCall[]> {
  if (generationIds.length === 0) return []
  return (await selectRows(db, toolCalls, ofGenerations(generationIds))).map(toolCallOf)
}

/** Those of them that are not settled, which somebody may be waited for. */
export async function loadOpenCallsOf(db: Database, generationIds: readonly string[]): Promise<ToolCall[]> {
  if (generationIds.length === 0) return []
  const open = sql`where generation_id in ${[...generationIds]} and settled_at is null
    order by generation_id, step_index, call_index`
  return (await selectRows(db, toolCalls, open)).map(toolCallOf)
}

/** The same for people who look: RESPONSE_TOO_LARGE when they have more than `maxWholeBytes`. */
export async function showCallsOf(db: Database, generationIds: readonly string[]): Promise<ToolCall[]> {
  const rows = await selectRowsWithin(db, toolCalls, ofGenerations(generationIds), maxWholeBytes)
  return rows.map(toolCallOf)
}

function ofGenerations(ids: readonly string[]): SQL {
  return sql`where generation_id in ${[...ids]} order by generation_id, step_index, call_index`
}

/** The same calls of one generation as a value of a larger statement, in its snapshot. Read it with `callsOfJson`. */
export function callsAsJson(generationId: string): SQL {
  return rowsAsJson(toolCalls, ofGenerations([generationId]))
}

export function callsOfJson(value: readonly object[]): ToolCall[] {
  return rowsOfJson(toolCalls, value).map(toolCallOf)
}
