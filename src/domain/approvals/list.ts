/** Lists of approvals, with their filter and orders, and how many there are. */
import * as view from '../../core/view.ts'
import { choice, idShape, optional, part, entity } from '../../core/shapes.ts'
import { and, eq, lte } from 'drizzle-orm'
import { z } from 'zod'
import { writeJson } from '../../core/json.ts'
import { invalidAt } from '../../core/errors.ts'
import type { Page, PlaceInList } from '../../core/page.ts'
import { type Database, query } from '../../store/db/database.ts'
import {
  createdFields,
  createdWithin,
  isOneOf,
  listPage,
  maxPageBytes,
  timeWithin,
} from '../../store/db/lists.ts'
import { selectRowsWithin } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals, voters } from '../../store/db/tables/approvals.ts'
import { assertMay, ownershipCondition, projectOf, type Ctx } from '../access/index.ts'
import { approvalOf, approvalStatus, verdictChoice, type Approval, type ApprovalStatus } from './approval.ts'
import { mayDecide } from './rights.ts'
import { decides } from './read.ts'
import { searchCondition } from './summary.ts'

export const approvalFilter = part(
  'ApprovalFilter',
  'Which approvals of a project are listed: those that match all given fields.',
  {
    statuses: optional(
      z.array(approvalStatus).describe('Only approvals with one of these statuses.'),
      'any status',
    ),
    toolId: idShape('Only approvals for the tool with this id.').nullish(),
    agentId: idShape('Only approvals for the agent with this id.').nullish(),
    requestedBy: idShape('Only approvals of calls for the principal with this id.').nullish(),
    decidedBy: idShape('Only approvals for which the principal with this id voted.').nullish(),
    verdict: verdictChoice
      .nullish()
      .describe(
        'Only approvals with a vote of this verdict, which is that of decidedBy when both are given.',
      ),
    search: z
      .string()
      .nullish()
      .describe(
        'Only approvals with all these words, at most 200 characters, in the name or title of the tool, the name that the ' +
          'agent had, the shown arguments, or the votes; the last word may be a beginning, and letter case does not matter. ' +
          'The whole id of the approval, or of its call, generation, tool, agent or requester, finds it too. ' +
          'Approvals of earlier releases are found by the runtime name of the tool, by ids and by later votes.',
      ),
    ...createdFields('approvals'),
    settledAfter: z.date().nullish().describe('Only approvals that were settled at this time or later.'),
    settledBefore: z.date().nullish().describe('Only approvals that were settled before this time.'),
  },
)
export type ApprovalFilter = z.output<typeof approvalFilter>

interface ListedInput {
  projectId?: string | null | undefined
  filter?: ApprovalFilter | null | undefined
  expiringBefore?: Date | null | undefined
  /** Only approvals that the caller may decide now. */
  forMe?: boolean | null | undefined
}

export const approvalOrder = choice('ApprovalOrder', 'The order of a list of approvals.', {
  CREATED_AT: 'The newest approval is first.',
  EXPIRES_AT: 'The approval that expires soonest is first.',
  SETTLED_AT: 'The approval that was settled last is first; pending ones are left out.',
})
export type ApprovalOrder = z.output<typeof approvalOrder>

/**
 * Approvals of a project: the newest first, pending ones in the order of their deadlines, or settled ones with the newest
 * outcome first. Action `approvals:List`. INVALID for the order EXPIRES_AT of approvals that are not pending, and for a
 * search without words.
 */
export async function listApprovals(
  ctx: Ctx,
  input: ListedInput & { page: Page; orderBy?: ApprovalOrder | null | undefined },
): Promise<Approval[]> {
  if (input.orderBy === 'EXPIRES_AT' && !input.forMe && !isPending(input.filter?.statuses))
    throw invalidAt(['orderBy'], 'EXPIRES_AT goes with statuses: [PENDING] or forMe only')
  const { projectId, where } = await listCondition(ctx, input)
  return (await readApprovals(ctx.db, { ...input, projectId, where })).map(approvalOf)
}

/** The rows of a page in an order. Checks no permission. */
export function readApprovals(
  db: Database,
  {
    projectId,
    where,
    page,
    orderBy,
  }: { projectId: string; where: SQL | undefined; page: Page; orderBy?: ApprovalOrder | null | undefined },
): Promise<(typeof approvals.$inferSelect)[]> {
  if (orderBy === 'EXPIRES_AT') return listBy(db, { ...byDeadline, projectId, page, where })
  if (orderBy === 'SETTLED_AT') return listBy(db, { ...bySettling, projectId, page, where })
  return listPage(db, approvals, projectId, page, where)
}

function isPending(statuses: readonly ApprovalStatus[] | null | undefined): boolean {
  return statuses?.length === 1 && statuses[0] === 'PENDING'
}

/** The project and the condition of a list, for a caller who may list. */
async function listCondition(
  ctx: Ctx,
  { projectId: given, filter, expiringBefore, forMe }: ListedInput,
): Promise<{ projectId: string; where: SQL | undefined }> {
  const projectId = await projectOf(ctx, given)
  await assertMay(ctx, 'approvals:List', projectId, 'approval/*', { reached: true })
  const where = and(
    conditionOf(filter ?? {}),
    expiringBefore ? lte(approvals.expiresAt, expiringBefore) : undefined,
    forMe ? await mayDecide(ctx, projectId) : undefined,
    decides(ctx) ? undefined : ownershipCondition(ctx, 'approval/*', approvals.requestedBy),
  )
  return { projectId, where }
}

/** An order other than that of `listPage`: a column, whether its last rows come first, and the rows that have it. */
interface Order {
  column: SQL
  isNewestFirst: boolean
  rows: SQL
}
const byDeadline: Order = {
  column: sql`expires_at`,
  isNewestFirst: false,
  rows: sql`status = 'PENDING'`,
}
const bySettling: Order = { column: sql`settled_at`, isNewestFirst: true, rows: sql`settled_at is not null` }

function listBy(
  db: Database,
  list: Order & { projectId: string; page: Page; where: SQL | undefined },
): Promise<(typeof approvals.$inferSelect)[]> {
  const { column, isNewestFirst, rows, projectId, page, where } = list
  const place = sql`(${column}, id)`
  const value = ({ at, id }: PlaceInList) => sql`(${new Date(at).toISOString()}::timestamptz, ${id})`
  const [later, earlier] = isNewestFirst ? [page.before, page.after] : [page.after, page.before]
  const order = isNewestFirst === page.inverted ? sql`asc` : sql`desc`
  const wanted = and(
    sql`project_id = ${projectId} and ${rows}`,
    later && sql`${place} > ${value(later)}`,
    earlier && sql`${place} < ${value(earlier)}`,
    where,
  )!
  const tail = sql`where ${wanted} order by ${column} ${order}, id ${order} limit ${page.limit}`
  return selectRowsWithin(db, approvals, tail, maxPageBytes)
}

export function conditionOf(filter: ApprovalFilter): SQL | undefined {
  const t = approvals
  return and(
    // Literals, not parameters, so that the planner can use the partial indexes of statuses.
    filter.statuses ? isOneOf(t.status, filter.statuses) : undefined,
    filter.toolId ? eq(t.toolId, filter.toolId) : undefined,
    filter.agentId ? eq(t.agentId, filter.agentId) : undefined,
    filter.requestedBy ? eq(t.requestedBy, filter.requestedBy) : undefined,
    voted(filter),
    createdWithin(t, filter),
    timeWithin(t.settledAt, filter.settledAfter, filter.settledBefore),
    filter.search === null || filter.search === undefined ? undefined : searchCondition(filter.search),
  )
}

function voted({ decidedBy, verdict }: ApprovalFilter): SQL | undefined {
  const vote = { ...(decidedBy ? { by: decidedBy } : {}), ...(verdict ? { verdict } : {}) }
  return and(
    decidedBy ? sql`${voters} @> ${writeJson([decidedBy])}::jsonb` : undefined,
    verdict ? sql`votes @> ${writeJson([vote])}::jsonb` : undefined,
  )
}

/** Counting stops at this number, which bounds the cost of the statement. */
const countLimit = 10_000

/** How many approvals a list has, by status, tool and agent. */
export const approvalGrouping = choice('ApprovalGrouping', 'What a tally of approvals is divided by.', {
  TOOL: 'One group for each tool.',
  AGENT: 'One group for each agent, and one for direct calls.',
})
export type ApprovalGrouping = z.output<typeof approvalGrouping>

/** Numbers of approvals by their status. */
type StatusNumbers = Record<ApprovalStatus, number>

export const approvalGroup = part(
  'ApprovalGroup',
  'Numbers of approvals by status, of one tool, of one agent or of all.',
  {
    id: view
      .id('The id of the tool or agent; null for direct calls, which have no agent, and for all.')
      .nullable(),
    toolName: view
      .text('A runtime name of the tool, also when it was deleted; null in groups of agents.')
      .nullable(),
    PENDING: view.under('pending', view.int('The number of pending approvals.')),
    APPROVED: view.under('approved', view.int('The number of approved approvals.')),
    REJECTED: view.under('rejected', view.int('The number of rejected approvals.')),
    EXPIRED: view.under('expired', view.int('The number of expired approvals.')),
    VOIDED: view.under('voided', view.int('The number of void approvals.')),
  },
)
export interface ApprovalGroup extends z.output<typeof approvalGroup> {
  /** Null for all. */
  by: ApprovalGrouping | null
}
const ApprovalGroup = entity<ApprovalGroup>()('ApprovalGroup')

export const approvalTally = part('ApprovalTally', 'How many approvals a list has.', {
  total: ApprovalGroup.describe('The approvals of the list by status.'),
  groups: z
    .array(ApprovalGroup)
    .describe('The groups, those with the most approvals first; empty without a grouping.'),
  isComplete: view.flag('Whether everything was counted: counting stops at 10,000 approvals.'),
})
export type ApprovalTally = z.output<typeof approvalTally>

const mostGroups = 50

/** How many approvals of a list there are, by status, and by tool or agent. Action `approvals:List`. */
export async function tallyApprovals(
  ctx: Ctx,
  input: ListedInput & { by?: ApprovalGrouping | null | undefined },
): Promise<ApprovalTally> {
  const { projectId, where } = await listCondition(ctx, input)
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
