/** What runs and tools cost, and what became of their calls, in a range of time. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { part } from '../../core/shapes.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { query, type Database } from '../../store/db/database.ts'
import { addCosts, costOf, pricesOf, type Costs, modelPrice, type TokenCounts } from '../models/index.ts'

/** Rows of each table that are counted: the newest of the range. It bounds a statement to a fraction of a second, also on the embedded database. */
export const mostRows = 25_000

export interface Range {
  projectId: string
  from: Date
  to: Date
  /** The length of a bucket, in milliseconds. */
  size: number
}

/** These columns of the newest rows of a range, with the number `n` of their bucket. */
export function newest(table: string, columns: SQL, { projectId, from, to, size }: Range): SQL {
  const begin = sql`${from.toISOString()}::timestamptz`
  return sql`(
    select ${columns}, trunc(extract(epoch from created_at - ${begin}) * 1000 / ${size}::float8)::int as n
    from ${sql.raw(table)}
    where project_id = ${projectId} and created_at >= ${begin} and created_at < ${to.toISOString()}::timestamptz
    order by created_at desc
    limit ${mostRows}
  ) as r`
}

/** Tokens of one model. A generation counts for the model of its last step. */
const tokens = {
  model: view.text('The model as provider/model.'),
  inputTokens: view.float('The number of tokens that the model read, cached ones included.'),
  cachedInputTokens: view.float('The number of tokens that the provider read from its cache.'),
  outputTokens: view.float('The number of tokens that the model wrote.'),
}
type Tokens = z.output<z.ZodObject<typeof tokens>>

/** The part of an agent in what one model cost. */
export const spendingShape = part('Spending', 'What the generations of one agent cost with one model.', {
  agentId: view.object(
    'agent',
    'Agent',
    'The agent; null when it is deleted or hidden from the caller.',
    'The id of the agent, which may be deleted by now.',
  ),
  runs: view.int('The number of generations whose last step asked the model.'),
  ...tokens,
  price: modelPrice.describe('The price of the model; null: the model has none.').nullable(),
  cost: view.float('The cost in USD; null: the model has no price, so the cost is unknown.').nullable(),
})
export type Spending = z.output<typeof spendingShape>

/** The agents and models that are listed: those that cost most, then those with the most tokens. */
export const mostSpending = 100

const tokenColumns = sql`agent_id, model, input_tokens, cached_input_tokens, output_tokens`

type Row = Tokens & { n: number | null; agentId: string | null; runs: number }

/** Costs of each bucket that has any, and the parts of agents and models. One statement, and one for prices. */
export async function countSpending(
  db: Database,
  range: Range,
): Promise<{ costsAt: ReadonlyMap<number, Costs>; total: Costs; spending: Spending[] }> {
  const rows = await query<Row>(
    db,
    sql`select n, agent_id as "agentId", model,
        count(*)::int as runs,
        sum(input_tokens)::float8 as "inputTokens",
        sum(cached_input_tokens)::float8 as "cachedInputTokens",
        sum(output_tokens)::float8 as "outputTokens"
      from ${newest('generations', tokenColumns, range)}
      where model is not null
      group by grouping sets ((n, model), (agent_id, model))`,
  )
  const prices = await pricesOf(db, range.projectId, [...new Set(rows.map(({ model }) => model))])
  const costsAt = new Map<number, Costs>()
  const total: Costs = { cost: 0, unpricedTokens: 0 }
  for (const row of rows)
    if (row.n !== null) {
      const costs = costsAt.get(row.n) ?? { cost: 0, unpricedTokens: 0 }
      costsAt.set(row.n, costs)
      for (const sums of [costs, total]) addCosts(sums, row, prices.get(row.model))
    }
  const spending = rows.flatMap(({ n: _n, agentId, ...row }): Spending[] => {
    if (agentId === null) return []
    const price = prices.get(row.model) ?? null
    return [{ agentId, ...row, price, cost: price && costOf(row, price) }]
  })
  return { costsAt, total, spending: spending.toSorted(byWeight).slice(0, mostSpending) }
}

/** The most money first, then the most tokens. */
const byWeight = (a: Spending, b: Spending): number =>
  (b.cost ?? 0) - (a.cost ?? 0) ||
  b.inputTokens + b.outputTokens - a.inputTokens - a.outputTokens ||
  a.model.localeCompare(b.model)

/** The tools that are listed: those with the most failures. */
export const mostTools = 50

export const toolFigures = part('ToolStatistics', 'The calls of one tool in a range of time.', {
  name: z.string().describe('The runtime name of the tool.'),
  calls: z.int().describe('The number of calls of the tool.'),
  errors: z.int().describe('The number of calls that failed or had invalid arguments.'),
  unknown: z.int().describe('The number of calls with status UNKNOWN.'),
  seconds: z
    .number()
    .describe(
      'The time from the first sending of a call to its outcome, in seconds, of all settled calls together.',
    ),
  cost: z
    .number()
    .describe(
      'The cost in USD of the model steps whose response asked for these calls, at the prices of now; the calls of one ' +
        'step have equal parts of it, whichever tools they are of. Models without a price are left out.',
    ),
  unpricedTokens: z.number().describe('The number of tokens of these parts whose model has no price.'),
})
export type ToolFigures = z.output<typeof toolFigures>

/** The tools of a range; `rows` are the calls that were counted. Two statements, and one for prices. */
export async function countTools(
  db: Database,
  range: Range,
): Promise<{ figures: ToolFigures[]; rows: number }> {
  const failed = sql`status in ('ERRORED', 'INVALID', 'UNKNOWN')`
  const counted = await query<Omit<ToolFigures, keyof Costs> & { rows: number }>(
    db,
    sql`select runtime_name as name,
        count(*)::int as calls,
        count(*) filter (where status in ('ERRORED', 'INVALID'))::int as errors,
        count(*) filter (where status = 'UNKNOWN')::int as unknown,
        coalesce(sum(extract(epoch from settled_at - started_at)) filter (where status <> 'UNKNOWN'), 0)::float8 as seconds,
        (sum(count(*)) over ())::int as rows
      from ${newest('tool_calls', sql`status, runtime_name, started_at, settled_at`, range)}
      group by runtime_name
      order by count(*) filter (where ${failed}) desc, count(*) desc, runtime_name
      limit ${mostTools}`,
  )
  const names = counted.map(({ name }) => name)
  const costs = await countToolCosts(db, range, names)
  return {
    rows: counted[0]?.rows ?? 0,
    figures: counted.map(({ rows: _rows, ...tool }) => ({ ...tool, ...costs.get(tool.name)! })),
  }
}

async function countToolCosts(
  db: Database,
  range: Range,
  names: readonly string[],
): Promise<Map<string, Costs>> {
  const costs = new Map(names.map((name) => [name, { cost: 0, unpricedTokens: 0 }]))
  if (names.length === 0) return costs
  const share = (field: keyof TokenCounts) =>
    sql`coalesce(sum((s.usage->>${field})::float8 / c.calls), 0)::float8 as ${sql.raw(`"${field}"`)}`
  const rows = await query<TokenCounts & { name: string; model: string }>(
    db,
    sql`select c.runtime_name as name, s.model, ${share('inputTokens')}, ${share('cachedInputTokens')},
        ${share('outputTokens')}
      from (
        select generation_id, step_index, runtime_name,
          count(*) over (partition by generation_id, step_index) as calls
        from ${newest('tool_calls', sql`generation_id, step_index, runtime_name`, range)}
        where generation_id is not null
      ) as c
      join steps as s on s.generation_id = c.generation_id and s.step_index = c.step_index
      where c.runtime_name in ${names}
      group by c.runtime_name, s.model`,
  )
  const prices = await pricesOf(db, range.projectId, [...new Set(rows.map(({ model }) => model))])
  for (const row of rows) addCosts(costs.get(row.name)!, row, prices.get(row.model))
  return costs
}
