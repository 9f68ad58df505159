/** Reads of approvals: those of the API with permissions, those of the domain without. */
import { and, eq, lte } from 'drizzle-orm'
import { invalidAt } from '../../core/errors.ts'
import type { Page, PlaceInList } from '../../core/page.ts'
import { query, type Database } from '../../store/db/database.ts'
import { listPage, maxPageBytes } from '../../store/db/keyset.ts'
import { rowsAsJson, rowsOfJson, selectRows, selectRowsWithin } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { parentLinkOf, type ParentLink } from '../../store/work/owner.ts'
import {
  assertMay,
  eachSeen,
  ownedBy,
  permissionsOf,
  projectOf,
  reachable,
  type Ctx,
} from '../access/index.ts'
import { approvalOf, type Approval, type ApprovalStatus } from './approval.ts'
import { mayDecide } from './may-decide.ts'

/** Approvals by id, null for what does not exist for the caller. Action `approvals:Get` on each. */
export async function getApprovals(ctx: Ctx, ids: readonly string[]): Promise<(Approval | null)[]> {
  const rows = await loadApprovals(ctx.db, ids)
  return eachSeen(
    ctx,
    ids,
    rows,
    'approvals:Get',
    ({ id }) => `approval/${id}`,
    ({ requestedBy }) => ({ by: requestedBy, reached: decides(ctx) }),
  )
}

/** Whoever may decide approvals reads them, whoever requested the calls. */
function decides({ principal }: Ctx): boolean {
  return permissionsOf(principal).some(({ action }) => action === 'approvals:Decide')
}

export interface ApprovalFilter {
  projectId?: string | null | undefined
  status?: ApprovalStatus | null | undefined
  toolId?: string | null | undefined
  agentId?: string | null | undefined
  expiringBefore?: Date | null | undefined
  /** Only approvals that the caller may decide now. */
  forMe?: boolean | null | undefined
}

export const approvalOrders = ['CREATED_AT', 'EXPIRES_AT'] as const
export type ApprovalOrder = (typeof approvalOrders)[number]

/**
 * Approvals of a project, newest first, or pending ones in the order of their deadlines. Action `approvals:List`.
 * INVALID for the order EXPIRES_AT of approvals that are not pending.
 */
export async function listApprovals(
  ctx: Ctx,
  input: ApprovalFilter & { page: Page; orderBy?: ApprovalOrder | null | undefined },
): Promise<Approval[]> {
  const projectId = projectOf(ctx, input.projectId)
  await assertMay(ctx, 'approvals:List', projectId, 'approval/*', { reached: true })
  const byDeadline = input.orderBy === 'EXPIRES_AT'
  if (byDeadline && input.status !== 'PENDING' && !input.forMe)
    throw invalidAt(['orderBy'], 'EXPIRES_AT goes with status PENDING or forMe only')
  const where = and(
    conditionOf(input),
    input.forMe ? await mayDecide(ctx, projectId) : undefined,
    decides(ctx) ? undefined : await ownedBy(ctx, 'approval/*', approvals.requestedBy),
  )
  const rows = byDeadline
    ? await listByDeadline(ctx.db, projectId, input.page, where)
    : await listPage(ctx.db, approvals, projectId, input.page, where)
  return rows.map(approvalOf)
}

function listByDeadline(db: Database, projectId: string, page: Page, where: SQL | undefined) {
  const place = sql`(expires_at, id)`
  const value = ({ at, id }: PlaceInList) => sql`(${new Date(at).toISOString()}::timestamptz, ${id})`
  const order = page.inverted ? sql`desc` : sql`asc`
  const wanted = and(
    sql`project_id = ${projectId} and status = 'PENDING'`,
    page.after && sql`${place} > ${value(page.after)}`,
    page.before && sql`${place} < ${value(page.before)}`,
    where,
  )!
  const tail = sql`where ${wanted} order by expires_at ${order}, id ${order} limit ${page.limit}`
  return selectRowsWithin(db, approvals, tail, maxPageBytes)
}

function conditionOf({ status, toolId, agentId, expiringBefore }: ApprovalFilter) {
  const t = approvals
  return and(
    // The status is a literal, not a parameter, so that the planner can use the partial index on PENDING.
    status === 'PENDING' ? sql`status = 'PENDING'` : status ? eq(t.status, status) : undefined,
    toolId ? eq(t.toolId, toolId) : undefined,
    agentId ? eq(t.agentId, agentId) : undefined,
    expiringBefore ? lte(t.expiresAt, expiringBefore) : undefined,
  )
}

/**
 * The approvals of the approved calls among these as a value of a larger statement; `which` is a condition on the row `c`.
 * Parse it with `approvalsOfJson`.
 */
export function agreedAsJson(which: SQL): SQL {
  return rowsAsJson(
    approvals,
    sql`where id in (select c.approval_id from tool_calls as c where ${which} and c.status = 'APPROVED')`,
  )
}

export function approvalsOfJson(value: readonly object[]): Approval[] {
  return rowsOfJson(approvals, value).map(approvalOf)
}

/** Numbers of approvals, each counted up to `countLimit`. */
export interface ApprovalCounts {
  pending: number
  /** Settled within the last 24 hours. */
  approved: number
  rejected: number
  expired: number
}

/** Counting stops at this number, which bounds the cost of the statement. */
export const countLimit = 10_000

/** Counts for a project, a tool or an agent. Action `approvals:List`. */
export async function countApprovals(
  ctx: Ctx,
  input: Pick<ApprovalFilter, 'projectId' | 'toolId' | 'agentId'>,
): Promise<ApprovalCounts> {
  const projectId = projectOf(ctx, input.projectId)
  await assertMay(ctx, 'approvals:List', projectId, 'approval/*', { reached: decides(ctx) })
  const narrow = conditionOf(input)
  const where = narrow ? sql`and ${narrow}` : sql``
  const rows = await query<{ status: ApprovalStatus; n: number }>(
    ctx.db,
    sql`
      select 'PENDING' as status, count(*)::int as n
      from (
        select 1 from approvals
        where project_id = ${projectId} and status = 'PENDING' ${where}
        limit ${countLimit}
      ) as open
      union all
      select status, count(*)::int
      from (
        select status from approvals
        where project_id = ${projectId} and settled_at > now() - interval '24 hours' ${where}
        limit ${countLimit}
      ) as done
      group by status`,
  )
  const of = (status: string) => rows.find((row) => row.status === status)?.n ?? 0
  return {
    pending: of('PENDING'),
    approved: of('APPROVED'),
    rejected: of('REJECTED'),
    expired: of('EXPIRED'),
  }
}

/** What a verdict is judged by, beside the approval. */
export interface VerdictSnapshot {
  /** Its time was over. */
  late: boolean
  /** Time of the database, in milliseconds since 1970. */
  now: number
  /** The row that owns the call. */
  owner: { epoch: number; status: string; parent: ParentLink | null }
}

/** The approval with what its verdict is judged by, in one snapshot. NOT_FOUND; checks no permission. */
export async function findForVerdict(
  ctx: Ctx,
  id: string,
): Promise<{ approval: Approval; seen: VerdictSnapshot }> {
  const [row] = await selectRows<typeof approvals, VerdictSnapshot>(
    ctx.db,
    approvals,
    sql`where id = ${id}`,
    sql`, expires_at <= now() as late,
      (extract(epoch from now()) * 1000)::float8 as now,
      case
        when generation_id is null then (
          select json_build_object('epoch', t.epoch, 'status', t.status, 'parent', null)
          from tool_calls as t
          where t.id = approvals.tool_call_id
        )
        else (
          select json_build_object('epoch', o.epoch, 'status', o.status, 'parent', o.parent)
          from (
            select epoch, status, ${parentLinkOf}
            from generations
            where generations.id = approvals.generation_id
          ) as o
        )
      end as owner`,
  )
  const { late, now, owner, ...plain } = reachable(ctx, row, 'approval', id)
  return { approval: approvalOf(plain), seen: { late, now, owner } }
}

/** Approvals by id, in no order. Checks no permission. */
export async function loadApprovals(db: Database, ids: readonly string[]): Promise<Approval[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, approvals, sql`where id in ${[...ids]}`)).map(approvalOf)
}

/** Pending approvals of a generation and all its descendants, oldest first, in one statement. Checks no permission. */
export async function loadPendingUnder(db: Database, generationId: string): Promise<Approval[]> {
  const pending = sql`
    where status = 'PENDING' and generation_id in (${treeUnder(generationId)})
    order by created_at, id`
  return (await selectRows(db, approvals, pending)).map(approvalOf)
}

/** Whether a generation or one of its descendants has ever asked for an approval. Checks no permission. */
export async function hasAskedUnder(db: Database, generationId: string): Promise<boolean> {
  const asked = sql`select 1 from approvals where generation_id in (${treeUnder(generationId)}) limit 1`
  return (await query(db, asked)).length > 0
}

function treeUnder(generationId: string): SQL {
  return sql`
    with recursive tree as (
      select ${generationId}::text as id
      union all
      select c.id from tree join generations as c on c.parent_id = tree.id
    )
    select id from tree`
}

/** Pending approvals of these generations, oldest first. Checks no permission. */
export async function loadPendingOf(db: Database, generationIds: readonly string[]): Promise<Approval[]> {
  if (generationIds.length === 0) return []
  const pending = sql`where generation_id in ${[...generationIds]} and status = 'PENDING' order by created_at, id`
  return (await selectRows(db, approvals, pending)).map(approvalOf)
}
