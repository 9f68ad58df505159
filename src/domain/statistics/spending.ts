/** What runs cost: their tokens, by the prices of their models. */
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { addCosts, costOf, pricesOf, type Costs, type ModelPrice, type TokenCounts } from '../models/index.ts'
import { newest, type Range } from './range.ts'

/** Tokens of one model. A generation counts for the model of its last step. */
interface Tokens extends TokenCounts {
  model: string
}

/** The part of an agent in what one model cost. */
export interface Spending extends Tokens {
  agentId: string
  /** The number of generations. */
  runs: number
  /** Null: the model has no price. */
  price: ModelPrice | null
  /** US dollars; null: the model has no price. */
  cost: number | null
}

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
