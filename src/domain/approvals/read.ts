/** Reads of approvals: those of the API with permissions, those of the domain without. */
import { and, eq, lte, sql } from 'drizzle-orm'
import type { Page } from '../../core/page.ts'
import { query, type Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/keyset.ts'
import { selectRows } from '../../store/db/rows.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { assertMay, eachSeen, projectOf, reachable, type Ctx } from '../access/index.ts'
import { approvalOf, type Approval, type ApprovalStatus } from './approval.ts'

/** Approvals by id, null for what does not exist for the caller. Action `approvals:Get` on each. */
export async function getApprovals(ctx: Ctx, ids: readonly string[]): Promise<(Approval | null)[]> {
  const rows = await loadApprovals(ctx.db, ids)
  return eachSeen(
    ctx,
    ids,
    rows,
    'approvals:Get',
    ({ id }) => `approval/${id}`,
    ({ requestedBy }) => ({ by: requestedBy }),
  )
}

export interface ApprovalFilter {
  projectId?: string | null | undefined
  status?: ApprovalStatus | null | undefined
  toolId?: string | null | undefined
  agentId?: string | null | undefined
  expiringBefore?: Date | null | undefined
}

/** Approvals of a project, newest first. Action `approvals:List`. */
export async function listApprovals(ctx: Ctx, input: ApprovalFilter & { page: Page }): Promise<Approval[]> {
  const projectId = projectOf(ctx, input.projectId)
  await assertMay(ctx, 'approvals:List', projectId, 'approval/*')
  return (await listPage(ctx.db, approvals, projectId, input.page, conditionOf(input))).map(approvalOf)
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
  await assertMay(ctx, 'approvals:List', projectId, 'approval/*')
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

/** The approval if it exists for the caller, else NOT_FOUND. Checks no permission. */
export async function findApproval(ctx: Ctx, id: string): Promise<Approval> {
  const [approval] = await loadApprovals(ctx.db, [id])
  return reachable(ctx, approval, 'approval', id)
}

/** Approvals by id, in no order. Checks no permission. */
export async function loadApprovals(db: Database, ids: readonly string[]): Promise<Approval[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, approvals, sql`where id in ${[...ids]}`)).map(approvalOf)
}

/** Pending approvals of a generation and all its descendants, oldest first, in one statement. Checks no permission. */
export async function loadPendingUnder(db: Database, generationId: string): Promise<Approval[]> {
  const pending = sql`
    where status = 'PENDING' and generation_id in (
      with recursive tree as (
        select ${generationId}::text as id
        union all
        select c.id from tree join generations as c on c.parent_id = tree.id
      )
      select id from tree
    )
    order by created_at, id`
  return (await selectRows(db, approvals, pending)).map(approvalOf)
}

/** Pending approvals of these generations, oldest first. Checks no permission. */
export async function loadPendingOf(db: Database, generationIds: readonly string[]): Promise<Approval[]> {
  if (generationIds.length === 0) return []
  const pending = sql`where generation_id in ${[...generationIds]} and status = 'PENDING' order by created_at, id`
  return (await selectRows(db, approvals, pending)).map(approvalOf)
}
