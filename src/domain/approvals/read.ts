/** Reads of approvals by their ids and owners: those of the API with permissions, those of the domain without. */
import { query, type Database } from '../../store/db/database.ts'
import { rowsAsJson, rowsOfJson, selectRows } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { parentLinkOf, type ParentLink } from '../../store/work/owner.ts'
import { eachSeen, permissionsOf, reachable, type Ctx } from '../access/index.ts'
import { approvalOf, type Approval } from './approval.ts'

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
export function decides({ principal }: Ctx): boolean {
  return permissionsOf(principal).some(({ action }) => action === 'approvals:Decide')
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
