/** How many approvals a list has, by status, tool and agent. */
import type { z } from 'zod'
import { choice } from '../../core/shapes.ts'
import { and } from 'drizzle-orm'
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Ctx } from '../access/index.ts'
import type { ApprovalStatus } from './approval.ts'
import { listed, type ListedInput } from './list.ts'

/** Counting stops at this number, which bounds the cost of the statement. */
const countLimit = 10_000

export const approvalGrouping = choice('ApprovalGrouping', 'What a tally of approvals is divided by.', {
  TOOL: 'One group for each tool.',
  AGENT: 'One group for each agent, and one for direct calls.',
})
export type ApprovalGrouping = z.output<typeof approvalGrouping>

/** Numbers of approvals by their status. */
export type StatusNumbers = Record<ApprovalStatus, number>

export interface ApprovalGroup extends StatusNumbers {
  /** The id of the tool or agent; null for calls without an agent. */
  id: string | null
  /** Null for all. */
  by: ApprovalGrouping | null
  /** A runtime name of the tool; null for an agent. */
  toolName: string | null
}

export interface ApprovalTally {
  total: ApprovalGroup
  /** Those with the most approvals first, at most `mostGroups`; empty without a grouping. */
  groups: ApprovalGroup[]
  /** Whether all that match were counted: counting stops at `countLimit`. */
  isComplete: boolean
}

const mostGroups = 50

/** How many approvals of a list there are, by status, and by tool or agent. Action `approvals:List`. */
export async function tallyApprovals(
  ctx: Ctx,
  input: ListedInput & { by?: ApprovalGrouping | null | undefined },
): Promise<ApprovalTally> {
  const { projectId, where } = await listed(ctx, input)
  const { by } = input
  const id = by === 'TOOL' ? sql`tool_id` : by === 'AGENT' ? sql`agent_id` : sql`null::text`
  const rows = await query<{ id: string | null; name: string | null; status: ApprovalStatus; n: number }>(
    ctx.db,
    sql`select id, min(runtime_name) as name, status, count(*)::int as n
      from (
        select ${id} as id, runtime_name, status
        from approvals
        where ${and(sql`project_id = ${projectId}`, where)!}
        limit ${countLimit}
      ) as matching
      group by id, status`,
  )
  const sum = (some: typeof rows) => some.reduce((before, { n }) => before + n, 0)
  const byId = new Map<string | null, typeof rows>()
  for (const row of rows) byId.set(row.id, [...(byId.get(row.id) ?? []), row])
  const groups = [...byId].map(([key, own]) => ({ key, own, size: sum(own) }))
  const largest = groups.toSorted((a, b) => b.size - a.size).slice(0, mostGroups)
  return {
    total: { ...numbersOf(rows), id: null, by: null, toolName: null },
    groups: by
      ? largest.map(({ key, own }) => ({
          ...numbersOf(own),
          id: key,
          by,
          toolName: by === 'TOOL' ? own[0]!.name : null,
        }))
      : [],
    isComplete: sum(rows) < countLimit,
  }
}

function numbersOf(rows: readonly { status: ApprovalStatus; n: number }[]): StatusNumbers {
  const numbers: StatusNumbers = { PENDING: 0, APPROVED: 0, REJECTED: 0, EXPIRED: 0, VOIDED: 0 }
  for (const { status, n } of rows) numbers[status] += n
  return numbers
}
