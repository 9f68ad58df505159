/** Reads of approvals by their ids and owners: those of the API with permissions, those of the domain without. */
import { momentNow } from '../../core/time.ts'
import { query, type Database } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import { parentLinkOf, type ParentLink } from '../../store/work/owner.ts'
import {
  assertMay,
  assertReached,
  visibleRows,
  permissionsOf,
  reachable,
  type Bond,
  type Ctx,
  denialError,
} from '../access/index.ts'
import { resourceOf } from '../tools/index.ts'
import { approvalOf, type Approval, type Verdict } from './approval.ts'
import { callAsJson, ownerOfJson, runAsJson, type OwnerJson, type OwnerSnapshot } from './run-state.ts'
import { AppError } from '../../core/errors.ts'
import { personsIn, whyNot, type Persons } from './rights.ts'

/** Approvals by id, null for what does not exist for the caller. Action `approvals:Get` on each. */
export async function getApprovals(ctx: Ctx, ids: readonly string[]): Promise<(Approval | null)[]> {
  const rows = await loadApprovals(ctx.db, ids)
  return visibleRows(
    ctx,
    ids,
    rows,
    'approvals:Get',
    ({ id }) => `approval/${id}`,
    (approval) => bondOf(ctx, approval),
  )
}

/** A person for whom a program acts reaches the question that asks for the login of that person. */
function bondOf(ctx: Ctx, { requestedBy: by, requirement: { loginOf, actsFor } }: Approval): Bond {
  const isAsked = loginOf !== undefined && [loginOf, actsFor].includes(ctx.principal.id)
  return { by, reached: isAsked || decides(ctx) }
}

/**
 * Throws unless the caller may decide approvals of this tool: action `approvals:Decide`. NOT_FOUND, as if it did not exist, for an
 * approval that the caller may not even read.
 */
export async function assertMayDecide(ctx: Ctx, approval: Approval): Promise<void> {
  const what = whatOf(approval)
  await assertReached(ctx, what, `approval/${approval.id}`, bondOf(ctx, approval))
  await assertMay(ctx, what.action, what.projectId, what.resource)
}

/** What the right to decide is asked for, and the audit records. */
export function whatOf({ projectId, toolId }: Pick<Approval, 'projectId' | 'toolId'>) {
  return { action: 'approvals:Decide', projectId, resource: resourceOf(toolId) } as const
}

/** Whoever may decide approvals reads them, whoever requested the calls. */
export function decides({ principal }: Ctx): boolean {
  return permissionsOf(principal).some(({ action }) => action === 'approvals:Decide')
}

/** What a verdict is judged by, beside the approval. */
export interface VerdictSnapshot {
  /** Its time was over. */
  late: boolean
  /** Time of the database, in milliseconds since 1970. */
  now: number
  /** The row that owns the call. */
  owner: { epoch: number; status: string; parent: ParentLink | null }
  /** What goes on with the verdict, if it waits for it alone, and was asked for. */
  goesOn: OwnerSnapshot | null
}

/**
 * The approval with what its verdict is judged by, in one snapshot. With a verdict, the run or call that would go on with it
 * is read too. NOT_FOUND; checks no permission.
 */
export async function findForVerdict(
  ctx: Ctx,
  id: string,
  verdict: Verdict | null,
): Promise<{ approval: Approval; seen: VerdictSnapshot }> {
  const readAt = momentNow()
  const [row] = await selectRows<typeof approvals, Omit<VerdictSnapshot, 'goesOn'> & { goesOn: OwnerJson }>(
    ctx.db,
    approvals,
    sql`where id = ${id}`,
    sql`, expires_at <= now() as late,
      (extract(epoch from now()) * 1000)::float8 as now,
      ${verdict ? goingOnWith(verdict) : sql`null`} as "goesOn",
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
  const { late, now, owner, goesOn, ...plain } = reachable(ctx, row, 'approval', id)
  return { approval: approvalOf(plain), seen: { late, now, owner, goesOn: ownerOfJson(goesOn, readAt) } }
}

/** The owner that waits for the approval, which the verdict settles, as a value. A rejected call outside a run has no work left. */
function goingOnWith(verdict: Verdict): SQL {
  const isLast = sql`jsonb_array_length(approvals.votes) + 1 >= (approvals.requirement->>'quorum')::int`
  const isRejected = verdict === 'REJECT'
  return sql`case
    when generation_id is not null
    then ${runAsJson(sql`run.id = approvals.generation_id and run.status = 'WAITING' and ${isRejected ? sql`true` : isLast}`)}
    else ${isRejected ? sql`null` : callAsJson(sql`t.id = approvals.tool_call_id and ${isLast}`)}
  end`
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

/** The approval, and the persons behind caller, requester and voters. */
export interface Decidable {
  approval: Approval
  /** By the clock of the database. */
  isLate: boolean
  persons: Persons
}

/**
 * The approval, if the caller may decide it: action `approvals:Decide` on its tool, with the rules of its gate. NOT_FOUND,
 * FORBIDDEN. Whether it is still open is another question.
 */
export async function findDecidable(ctx: Ctx, id: string): Promise<Decidable> {
  const { approval, isLate } = await readNow(ctx, ctx.db, id)
  await assertMayDecide(ctx, approval)
  const persons = await personsIn(ctx.db, ctx, approval)
  const refusal = whyNot(ctx, approval, persons)
  if (refusal) throw await denialError(ctx, whatOf(approval), refusal)
  return { approval, isLate, persons }
}

/** The approval as it is at this moment, also after a wait for a lock. NOT_FOUND; checks no permission. */
export async function readNow(
  ctx: Ctx,
  db: Database,
  id: string,
): Promise<{ approval: Approval; isLate: boolean }> {
  const [row] = await selectRows<typeof approvals, { late: boolean }>(
    db,
    approvals,
    sql`where id = ${id}`,
    sql`, expires_at <= clock_timestamp() as late`,
  )
  const { late, ...plain } = reachable(ctx, row, 'approval', id)
  return { approval: approvalOf(plain), isLate: late }
}

/** Throws APPROVAL_EXPIRED, APPROVAL_ALREADY_DECIDED or CONFLICT unless the approval waits for a verdict. */
export function assertOpen(approval: Approval, isLate: boolean): void {
  const { status, votes, voidReason } = approval
  if (status === 'EXPIRED' || (status === 'PENDING' && isLate))
    throw new AppError(
      'APPROVAL_EXPIRED',
      `The time for this approval was over at ${approval.expiresAt.toISOString()}; the call was rejected.`,
      { conflictingId: approval.id },
    )
  if (status === 'VOIDED') throw conflict(approval, `This approval was voided (${voidReason ?? ''}).`)
  if (status === 'PENDING') return
  const last = votes.at(-1)
  throw new AppError(
    'APPROVAL_ALREADY_DECIDED',
    `Somebody was faster: ${last?.byName ?? 'another key'} decided ${last?.verdict ?? ''} at ${last?.at ?? ''}.`,
    { conflictingId: approval.id },
  )
}

export function conflict(approval: Approval, message: string): AppError {
  return new AppError('CONFLICT', message, { conflictingId: approval.id })
}
