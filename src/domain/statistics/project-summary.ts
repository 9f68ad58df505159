/** What in a project runs and what waits for people, in numbers; for metrics also of the whole installation. */
import type { z } from 'zod'
import { part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { assertMay, projectOf, type Ctx } from '../access/index.ts'

/** Numbers of a project, each counted up to `countLimit`. */
export const projectSummary = part(
  'ProjectSummary',
  'Numbers of what runs in a project and what waits for people, each counted up to 10,000.',
  {
    pendingApprovals: view.int('The number of pending approvals.'),
    unknownCalls: view.int(
      'The number of tool calls with status UNKNOWN, which wait for resolveUnknownCall.',
    ),
    faultyUpstreams: view.int(
      'The number of upstreams with status DEGRADED, UNREACHABLE or AUTHORIZATION_REQUIRED.',
    ),
    running: view.int('The number of generations that a worker runs or will run next.'),
    waiting: view.int('The number of generations that wait for a client, an approver or a child run.'),
  },
)
type ProjectSummary = z.output<typeof projectSummary>

/** Counting stops at this number, which bounds the cost of the statement. */
const countLimit = 10_000

/** The numbers of a project. Actions `approvals:List`, `toolCalls:List`, `tools:List` and `generations:List`. */
export async function summariseProject(
  ctx: Ctx,
  input: { projectId?: string | null | undefined },
): Promise<ProjectSummary> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'approvals:List', projectId, 'approval/*')
  await assertMay(ctx, 'toolCalls:List', projectId, 'toolCall/*')
  await assertMay(ctx, 'tools:List', projectId, 'tool/*')
  await assertMay(ctx, 'generations:List', projectId, 'generation/*')
  return countProject(ctx.db, projectId)
}

/** Counts in one statement over partial indexes. Checks no permission. */
export async function countProject(db: Database, projectId: string): Promise<ProjectSummary> {
  const count = (table: string, where: SQL) =>
    sql`(
        select count(*)::int
        from (
          select 1
          from ${sql.raw(table)}
          where project_id = ${projectId} and ${where}
          limit ${countLimit}
        ) as counted
      )`
  const open = sql`status in ('QUEUED', 'RUNNING', 'WAITING')`
  const [row] = await query<ProjectSummary>(
    db,
    sql`select
        ${count('approvals', sql`status = 'PENDING'`)} as "pendingApprovals",
        ${count('tool_calls', sql`status = 'UNKNOWN'`)} as "unknownCalls",
        ${count('upstreams', sql`status in ('DEGRADED', 'UNREACHABLE', 'AUTHORIZATION_REQUIRED')`)} as "faultyUpstreams",
        ${count('generations', sql`${open} and status <> 'WAITING'`)} as "running",
        ${count('generations', sql`${open} and status = 'WAITING'`)} as "waiting"`,
  )
  return row!
}

/** What of the whole installation waits for people: numbers without ids, for metrics. */
export interface Attention {
  /** Calls of unknown outcome that nobody has resolved. */
  unknown: number
  /** Questions that wait for a verdict. */
  pending: number
  /** Of these, those that expire within a minute. */
  ending: number
  /** Upstreams that do not answer, answer badly, or need a login. */
  faulty: number
}

/** Nothing is counted further. */
const most = 10_000

/** Counts over indexes of open work. Checks no permission. */
export async function countAttention(db: Database): Promise<Attention> {
  const upTo = (rows: SQL) => sql`(select count(*)::int from (${rows} limit ${most}::int) as x)`
  const [counts] = await query<Attention>(
    db,
    sql`select
      ${upTo(sql`select 1 from tool_calls where status = 'UNKNOWN' and resolution is null`)} as unknown,
      ${upTo(sql`select 1 from approvals where status = 'PENDING'`)} as pending,
      ${upTo(sql`select 1 from approvals
        where wake_at < now() + interval '1 minute' and status = 'PENDING'
          and expires_at < now() + interval '1 minute'`)} as ending,
      ${upTo(sql`select 1 from upstreams
        where status in ('DEGRADED', 'UNREACHABLE', 'AUTHORIZATION_REQUIRED')`)} as faulty`,
  )
  return counts!
}
