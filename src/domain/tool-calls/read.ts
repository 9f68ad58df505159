/** Reads of tool calls: those of the API with permissions, those of the domain without. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { idShape, optional, part } from '../../core/shapes.ts'
import type { Page } from '../../core/page.ts'
import { query, type Database } from '../../store/db/database.ts'
import { createdFields, createdWithin, isOneOf, listPage, maxWholeBytes } from '../../store/db/lists.ts'
import { rowsAsJson, rowsOfJson, selectRows, selectRowsWithin } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { notFound } from '../../core/errors.ts'
import {
  assertMay,
  visibleRows,
  ownershipCondition,
  projectOf,
  reachable,
  type Ctx,
} from '../access/index.ts'
import { toolCallStatus } from './state.ts'
import { toolCallOf, type ToolCall } from './tool-call.ts'

/** Calls by id, null for what does not exist for the caller. Action `toolCalls:Get` on each. */
export async function getToolCalls(ctx: Ctx, ids: readonly string[]): Promise<(ToolCall | null)[]> {
  const rows = await loadCalls(ctx.db, ids)
  return visibleRows(
    ctx,
    ids,
    rows,
    'toolCalls:Get',
    ({ id }) => `toolCall/${id}`,
    ({ requestedBy }) => ({ by: requestedBy }),
  )
}

export const toolCallFilter = part(
  'ToolCallFilter',
  'Which tool calls of a project are listed: those that match all given fields.',
  {
    statuses: optional(
      z.array(toolCallStatus).describe('Only calls with one of these statuses.'),
      'any status',
    ),
    toolId: idShape('Only calls of the tool with this id.').nullish(),
    generationId: idShape('Only calls of the generation with this id.').nullish(),
    agentId: idShape(
      'Only calls in generations of the agent with this id, and calls that MCP clients made through it.',
    ).nullish(),
    search: z
      .string()
      .nullish()
      .describe(
        'Only calls with all these words, at most 200 characters, in the name of the tool or in the approval of the call, as ' +
          'in ApprovalFilter; ids and the code of the error are found too. Only with statuses: [UNKNOWN]. Approvals are ' +
          'searched only for callers that may do approvals:List.',
      ),
    ...createdFields('calls'),
  },
)
export type ToolCallFilter = z.output<typeof toolCallFilter>

/** Calls of a project, newest first, all or those that match filter and condition. Action `toolCalls:List`. */
export async function listToolCalls(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    filter?: Omit<ToolCallFilter, 'search'> | null | undefined
    where?: SQL | undefined
    page: Page
  },
): Promise<ToolCall[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'toolCalls:List', projectId, 'toolCall/*', { reached: true })
  const { statuses, toolId, generationId, agentId, ...range } = input.filter ?? {}
  const where = and(
    statuses ? isOneOf(toolCalls.status, statuses) : undefined,
    toolId ? eq(toolCalls.toolId, toolId) : undefined,
    generationId ? eq(toolCalls.generationId, generationId) : undefined,
    agentId ? throughAgent(agentId) : undefined,
    createdWithin(toolCalls, range),
    input.where,
    ownershipCondition(ctx, 'toolCall/*', toolCalls.requestedBy),
  )
  return (await listPage(ctx.db, toolCalls, projectId, input.page, where)).map(toolCallOf)
}

/** The calls of an agent, each of both kinds found by an index that begins with the agent. */
function throughAgent(agentId: string): SQL {
  return sql`${toolCalls.id} in (
      select c.id from tool_calls as c where c.agent_id = ${agentId}
      union all
      select c.id
      from generations as g
      join tool_calls as c on c.generation_id = g.id
      where g.agent_id = ${agentId}
    )`
}

/** A call that is known to exist. Checks no permission. */
export async function loadCall(db: Database, id: string): Promise<ToolCall> {
  const [row] = await selectRows(db, toolCalls, sql`where id = ${id}`)
  return toolCallOf(row!)
}

/** A call that had no result, for whatever reason but a decision of people or the end of its generation. */
export const hasFailed = sql`status in ('ERRORED', 'INVALID', 'UNKNOWN')`

/** How many calls of each of these generations have failed. */
export async function loadFailedCalls(db: Database, generationIds: readonly string[]): Promise<number[]> {
  const rows = await query<{ id: string; count: number }>(
    db,
    sql`select generation_id as id, count(*)::int as count
      from tool_calls
      where generation_id in ${[...generationIds]} and ${hasFailed}
      group by generation_id`,
  )
  const counts = new Map(rows.map(({ id, count }) => [id, count]))
  return generationIds.map((id) => counts.get(id) ?? 0)
}

/** Calls by id, in no order. Checks no permission. */
export async function loadCalls(db: Database, ids: readonly string[]): Promise<ToolCall[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, toolCalls, sql`where id in ${[...ids]}`)).map(toolCallOf)
}

/** The calls of these generations in step and call order. Checks no permission. */
export async function loadCallsOf(db: Database, generationIds: readonly string[]): Promise<ToolCall[]> {
  if (generationIds.length === 0) return []
  return (await selectRows(db, toolCalls, ofGenerations(generationIds))).map(toolCallOf)
}

/** Those calls of these generations that are not settled, in the same order. Checks no permission. */
export async function loadOpenCallsOf(db: Database, generationIds: readonly string[]): Promise<ToolCall[]> {
  if (generationIds.length === 0) return []
  const open = sql`where generation_id in ${[...generationIds]} and settled_at is null
    order by generation_id, step_index, call_index`
  return (await selectRows(db, toolCalls, open)).map(toolCallOf)
}

/** The calls of these generations for the API: RESPONSE_TOO_LARGE when they have more than `maxWholeBytes`. */
export async function showCallsOf(db: Database, generationIds: readonly string[]): Promise<ToolCall[]> {
  const rows = await selectRowsWithin(db, toolCalls, ofGenerations(generationIds), maxWholeBytes)
  return rows.map(toolCallOf)
}

/** Indexes of steps of one generation, both included. They count from 1. */
export interface StepRange {
  from: number
  to: number
}

/** The calls of these steps for the API: RESPONSE_TOO_LARGE as `showCallsOf`. */
export async function showCallsBetween(
  db: Database,
  generationId: string,
  { from, to }: StepRange,
): Promise<ToolCall[]> {
  const between = sql`where generation_id = ${generationId} and step_index between ${from}::int and ${to}::int
    order by step_index, call_index`
  return (await selectRowsWithin(db, toolCalls, between, maxWholeBytes)).map(toolCallOf)
}

function ofGenerations(ids: readonly string[]): SQL {
  return sql`where generation_id in ${[...ids]} order by generation_id, step_index, call_index`
}

/** The calls of one generation as a value of a larger statement, in its snapshot. Parse it with `callsOfJson`. */
export function callsAsJson(generationId: SQL | string): SQL {
  return rowsAsJson(toolCalls, sql`where generation_id = ${generationId} order by step_index, call_index`)
}

export function callsOfJson(value: readonly object[]): ToolCall[] {
  return rowsOfJson(toolCalls, value).map(toolCallOf)
}

/**
 * A call that is its own work row, if it exists for the caller, else NOT_FOUND; calls of a generation are NOT_FOUND.
 * Checks no permission.
 */
export async function findDirectCall(ctx: Ctx, id: string): Promise<ToolCall> {
  const [row] = await selectRows(ctx.db, toolCalls, sql`where id = ${id}`)
  const call = toolCallOf(reachable(ctx, row, 'tool call', id))
  if (call.generationId !== null || call.toolId === null) throw notFound('tool call', id)
  return call
}
