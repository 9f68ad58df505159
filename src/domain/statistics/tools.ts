/** What became of the calls of each tool, how long they took, and what the model responses cost that asked for them. */
import { query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { addCosts, pricesOf, type Costs, type TokenCounts } from '../models/index.ts'
import { newest, type Range } from './range.ts'

/** The tools that are listed: those with the most failures. */
export const mostTools = 50

/** The costs of a tool are those of the steps whose response called it; several calls of a step have equal parts of it. */
export interface ToolFigures extends Costs {
  name: string
  calls: number
  errors: number
  unknown: number
  /** The time from the first sending of each settled call to its outcome, in seconds, of all calls together. */
  seconds: number
}

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
  const part = (field: keyof TokenCounts) =>
    sql`coalesce(sum((s.usage->>${field})::float8 / c.calls), 0)::float8 as ${sql.raw(`"${field}"`)}`
  const rows = await query<TokenCounts & { name: string; model: string }>(
    db,
    sql`select c.runtime_name as name, s.model, ${part('inputTokens')}, ${part('cachedInputTokens')},
        ${part('outputTokens')}
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
