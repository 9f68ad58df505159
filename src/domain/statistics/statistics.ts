/** What happened in a project over time: runs, tokens, money, verdicts and failing tools, in buckets of an hour or a day. */
import { z } from 'zod'
import { invalidAt } from '../../core/errors.ts'
import { choice, entity, part } from '../../core/shapes.ts'
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
  mostSpending,
  mostTools,
  toolFigures,
} from './spending.ts'
import type { Costs } from '../models/index.ts'

export const bucketSize = choice('StatisticsBucketSize', 'The length of a bucket of statistics.', {
  HOUR: 'A bucket is one hour.',
  DAY: 'A bucket is 24 hours.',
})
export type BucketSize = z.output<typeof bucketSize>

const bucketMs: Record<BucketSize, number> = { HOUR: 3_600_000, DAY: 86_400_000 }

/** The most buckets of one answer: about 16 days of hours, or more than a year of days. */
export const mostBuckets = 400
const costFields = {
  cost: z
    .number()
    .describe(
      'The cost in USD of the tokens of these generations at the prices of now; models without a price are left out.',
    ),
  unpricedTokens: z.number().describe('The number of tokens of these generations whose model has no price.'),
}
const verdictTimes = z.object({
  verdictP50: z
    .number()
    .nullable()
    .describe('The median time from question to verdict, in seconds; null without a verdict.'),
  verdictP90: z
    .number()
    .nullable()
    .describe(
      'The time from question to verdict that nine of ten verdicts did not exceed, in seconds; null without a verdict.',
    ),
})
type VerdictTimes = z.output<typeof verdictTimes>

const bucketShape = part(
  'StatisticsBucket',
  'What began within one bucket of time, by what has become of it.',
  {
    start: z.date().describe('The beginning of the bucket.'),
    completed: z.int().describe('The number of generations that completed.'),
    failed: z.int().describe('The number of generations that failed.'),
    cancelled: z.int().describe('The number of generations that were cancelled.'),
    expired: z.int().describe('The number of generations that reached their deadline.'),
    open: z.int().describe('The number of generations that have not ended.'),
    inputTokens: z.number().describe('The number of tokens that the models of these generations read.'),
    outputTokens: z.number().describe('The number of tokens that the models of these generations wrote.'),
    ...costFields,
    approvals: z.int().describe('The number of approvals that were requested.'),
    approvalsExpired: z.int().describe('The number of these approvals that got no verdict in time.'),
    ...verdictTimes.shape,
  },
)
type Bucket = z.output<typeof bucketShape>

export const statistics = part('Statistics', 'What happened in a project in a range of time.', {
  from: z.date().describe('The beginning of the range.'),
  to: z.date().describe('The end of the range, which is not part of it.'),
  complete: z
    .boolean()
    .describe(
      'Whether everything in the range is counted; false when it has more than 25,000 generations, approvals or tool calls, ' +
        'of which the oldest are missing, or some were removed by retention.',
    ),
  ...verdictTimes.shape,
  buckets: z
    .array(bucketShape)
    .describe(`The buckets of the range, oldest first, empty ones included; at most ${mostBuckets}.`),
  ...costFields,
  spending: z
    .array(entity<Spending>()('Spending'))
    .describe(`What agents cost, by model, the most expensive first; at most ${mostSpending}.`),
  tools: z
    .array(toolFigures)
    .describe(`The tools that were called, those whose calls failed most first, at most ${mostTools}.`),
})
export type Statistics = z.output<typeof statistics>

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
