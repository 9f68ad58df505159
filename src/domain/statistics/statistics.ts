/** What happened in a project over time: runs, tokens, money, verdicts and failing tools, in buckets of an hour or a day. */
import { invalidAt } from '../../core/errors.ts'
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { assertMay, projectOf, type Ctx } from '../access/index.ts'
import {
  mostRows,
  newest,
  type Range,
  countSpending,
  type Spending,
  countTools,
  type ToolFigures,
} from './spending.ts'
import type { Costs } from '../models/index.ts'

export const bucketSizes = ['HOUR', 'DAY'] as const
export type BucketSize = (typeof bucketSizes)[number]

const bucketMs: Record<BucketSize, number> = { HOUR: 3_600_000, DAY: 86_400_000 }

/** The most buckets of one answer: about 16 days of hours, or more than a year of days. */
export const mostBuckets = 400
/** Times between question and verdict, in seconds; null without a verdict. */
interface VerdictTimes {
  verdictP50: number | null
  verdictP90: number | null
}

/** What began within a bucket. */
export interface Bucket extends VerdictTimes, Costs {
  start: Date
  /** Runs by what has become of them by now. */
  completed: number
  failed: number
  cancelled: number
  expired: number
  open: number
  inputTokens: number
  outputTokens: number
  approvals: number
  approvalsExpired: number
}

export interface Statistics extends VerdictTimes, Costs {
  from: Date
  to: Date
  /** False when the range has more rows than are counted, or runs that were removed: its oldest are missing. */
  complete: boolean
  buckets: Bucket[]
  tools: ToolFigures[]
  spending: Spending[]
}

/**
 * Figures of a project from `from` until before `to`, in buckets that begin at `from`. Default: until now, the last 24
 * hours, or 30 days. Actions `generations:List`, `approvals:List` and `toolCalls:List`. INVALID for a range that is empty
 * or has more than 400 buckets. Five statements, each over an index and at most 25,000 rows
 * of its table, and two for prices.
 */
export async function readStatistics(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    from?: Date | null | undefined
    to?: Date | null | undefined
    bucket?: BucketSize | null | undefined
  },
): Promise<Statistics> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'generations:List', projectId, 'generation/*')
  await assertMay(ctx, 'approvals:List', projectId, 'approval/*')
  await assertMay(ctx, 'toolCalls:List', projectId, 'toolCall/*')
  const bucket = input.bucket ?? 'HOUR'
  const size = bucketMs[bucket]
  const to = input.to ?? new Date(ctx.clock.now())
  const from = input.from ?? new Date(to.getTime() - size * (bucket === 'HOUR' ? 24 : 30))
  const count = Math.ceil((to.getTime() - from.getTime()) / size)
  if (count < 1) throw invalidAt(['to'], 'must be after from')
  if (count > mostBuckets)
    throw invalidAt(['from'], `gives ${count} buckets; at most ${mostBuckets} are counted`)
  const figures = await countStatistics(ctx.db, { projectId, from, to, size }, count)
  const isWhole = (await removedUntilOf(ctx.db, projectId)) < from.getTime()
  return { ...figures, complete: figures.complete && isWhole }
}

/** When the newest run was created that retention has removed, in milliseconds since 1970; 0: none. */
async function removedUntilOf(db: Database, projectId: string): Promise<number> {
  const [row] = await query<{ at: number | null }>(
    db,
    sql`select (extract(epoch from removed_until) * 1000)::float8 as at from retentions where id = ${projectId}`,
  )
  return row?.at ?? 0
}

/** Counts. Checks no permission. */
export async function countStatistics(db: Database, range: Range, count: number): Promise<Statistics> {
  const [runs, verdicts, tools, { costsAt, total, spending }] = [
    await countRuns(db, range),
    await countVerdicts(db, range),
    await countTools(db, range),
    await countSpending(db, range),
  ]
  const { from, to, size } = range
  const runsAt = new Map(runs.map((row) => [row.n, row]))
  const verdictsAt = new Map(verdicts.map((row) => [row.n, row]))
  const all = verdictsAt.get(null)
  const buckets = Array.from({ length: count }, (_, n): Bucket => {
    const { n: _run, rows: _rows, ...run } = runsAt.get(n) ?? noRuns
    const { n: _verdict, rows: _asked, ...verdict } = verdictsAt.get(n) ?? noVerdicts
    const costs = costsAt.get(n) ?? noCosts
    return { start: new Date(from.getTime() + n * size), ...run, ...verdict, ...costs }
  })
  const seen = [runs[0]?.rows ?? 0, all?.rows ?? 0, tools.rows]
  return {
    from,
    to,
    complete: seen.every((rows) => rows < mostRows),
    verdictP50: all?.verdictP50 ?? null,
    verdictP90: all?.verdictP90 ?? null,
    ...total,
    buckets,
    spending,
    tools: tools.figures,
  }
}

const noRuns = {
  n: 0,
  rows: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  open: 0,
  inputTokens: 0,
  outputTokens: 0,
}
const noCosts: Costs = { cost: 0, unpricedTokens: 0 }
const noVerdicts = { n: 0, rows: 0, approvals: 0, approvalsExpired: 0, verdictP50: null, verdictP90: null }

function countRuns(db: Database, range: Range) {
  return query<
    Omit<Bucket, 'start' | 'approvals' | 'approvalsExpired' | keyof VerdictTimes | keyof Costs> & {
      n: number
      rows: number
    }
  >(
    db,
    sql`select n,
        count(*) filter (where status = 'COMPLETED')::int as completed,
        count(*) filter (where status = 'FAILED')::int as failed,
        count(*) filter (where status = 'CANCELLED')::int as cancelled,
        count(*) filter (where status = 'EXPIRED')::int as expired,
        count(*) filter (where status in ('QUEUED', 'RUNNING', 'WAITING'))::int as open,
        sum(input_tokens)::float8 as "inputTokens",
        sum(output_tokens)::float8 as "outputTokens",
        (sum(count(*)) over ())::int as rows
      from ${newest('generations', sql`status, input_tokens, output_tokens`, range)}
      group by n`,
  )
}

/** A row for each bucket, and one with `n` null for all of them. */
function countVerdicts(db: Database, range: Range) {
  const time = sql`extract(epoch from settled_at - created_at)`
  const decided = sql`filter (where status in ('APPROVED', 'REJECTED'))`
  const quantile = (share: number) =>
    sql`(percentile_cont(${share}::float8) within group (order by ${time}) ${decided})::float8`
  return query<
    VerdictTimes & { n: number | null; rows: number; approvals: number; approvalsExpired: number }
  >(
    db,
    sql`select n,
        count(*)::int as approvals,
        count(*) filter (where status = 'EXPIRED')::int as "approvalsExpired",
        ${quantile(0.5)} as "verdictP50",
        ${quantile(0.9)} as "verdictP90",
        count(*)::int as rows
      from ${newest('approvals', sql`status, settled_at, created_at`, range)}
      group by grouping sets ((n), ())`,
  )
}
