/** What generations cost, each with all its descendants. */
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { addCosts, pricesOf, type Costs, type TokenCounts } from '../../models/index.ts'
import { treeOf } from './tree.ts'

/**
 * The costs of each of these generations at the prices of now, in their order. As in statistics, a generation counts for
 * the model of its last step. Checks no permission.
 */
export async function loadTotalCosts(db: Database, ids: readonly string[]): Promise<Costs[]> {
  const rows = await query<TokenCounts & { top: string; projectId: string; model: string }>(
    db,
    sql`with recursive ${treeOf(sql`select id as top, id from generations where id in ${[...ids]}`)}
      select tree.top,
        g.project_id as "projectId",
        g.model,
        sum(g.input_tokens)::float8 as "inputTokens",
        sum(g.cached_input_tokens)::float8 as "cachedInputTokens",
        sum(g.output_tokens)::float8 as "outputTokens"
      from tree
      join generations as g on g.id = tree.id
      where g.model is not null
      group by tree.top, g.project_id, g.model`,
  )
  const costs = new Map<string, Costs>(ids.map((id) => [id, { cost: 0, unpricedTokens: 0 }]))
  for (const projectId of new Set(rows.map((row) => row.projectId))) {
    const own = rows.filter((row) => row.projectId === projectId)
    const prices = await pricesOf(db, projectId, [...new Set(own.map(({ model }) => model))])
    for (const row of own) addCosts(costs.get(row.top)!, row, prices.get(row.model))
  }
  return ids.map((id) => costs.get(id)!)
}
