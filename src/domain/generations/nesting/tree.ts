/** Reads a run together with its descendants, and what they cost. */
import type { PgColumn } from 'drizzle-orm/pg-core'
import { query, type Database } from '../../../store/db/database.ts'
import { selectRows } from '../../../store/db/rows.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { toolCalls } from '../../../store/db/tables/tools.ts'
import { toolCallOf, type ToolCall } from '../../tool-calls/index.ts'
import { ratesOf } from '../../models/index.ts'

/** The recursive relation `tree(top, id)`: each of these generations with itself and all its descendants. */
export function treeOf(tops: SQL): SQL {
  return sql`tree as (
      ${tops}
      union all
      select tree.top, c.id
      from tree
      join generations as c on c.parent_id = tree.id
    )`
}

/**
 * The open client calls and stopped calls of the descendants of these generations, oldest first. Checks no
 * permission.
 */
export async function loadAskedUnder(
  db: Database,
  ids: readonly string[],
): Promise<{ top: string; call: ToolCall }[]> {
  if (ids.length === 0) return []
  const under = await query<{ top: string; id: string }>(
    db,
    sql`with recursive ${treeOf(sql`select id as top, id from generations where id in ${[...ids]}`)}
      select tree.top, t.id
      from tree
      join tool_calls as t on t.generation_id = tree.id
      where tree.id <> tree.top
        and t.settled_at is null
        and t.status in ('AWAITING_CLIENT', 'AWAITING_APPROVAL')`,
  )
  if (under.length === 0) return []
  const callIds = [...new Set(under.map((row) => row.id))]
  const rows = await selectRows(db, toolCalls, sql`where id in ${callIds} order by created_at, id`)
  const calls = rows.map(toolCallOf)
  return calls.flatMap((call) => under.flatMap(({ top, id }) => (id === call.id ? [{ top, call }] : [])))
}

/** Which of these generations own the client calls with these ids: the generation itself and its descendants. */
export async function ownersUnder(
  db: Database,
  id: string,
  callIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await query<{ call: string; owner: string }>(
    db,
    sql`with recursive ${treeOf(sql`select id as top, id from generations where id = ${id}`)}
      select t.id as call, tree.id as owner
      from tree
      join tool_calls as t on t.generation_id = tree.id
      where t.id in ${[...callIds]} and t.kind = 'client'`,
  )
  return new Map(rows.map(({ call, owner }) => [call, owner]))
}

/** Tokens of a generation and all its descendants. */
export interface TotalUsage {
  id: string
  inputTokens: number
  outputTokens: number
}

/** The total usage of each of these generations. Checks no permission. */
export function loadTotalUsage(db: Database, ids: readonly string[]): Promise<TotalUsage[]> {
  if (ids.length === 0) return Promise.resolve([])
  return query<TotalUsage>(
    db,
    sql`with recursive ${treeOf(sql`select id as top, id from generations where id in ${[...ids]}`)}
      select
        tree.top as id,
        sum(g.input_tokens)::float8 as "inputTokens",
        sum(g.output_tokens)::float8 as "outputTokens"
      from tree
      join generations as g on g.id = tree.id
      group by tree.top`,
  )
}

/**
 * The token budgets that apply to a generation: its own and those of its ancestors, each with the tokens of that
 * generation and all its descendants.
 */
export function chainBudgets(db: Database, id: string): Promise<{ used: number; limit: number }[]> {
  const limit = sql`(settings->'budget'->>'tokensPerGeneration')::float8`
  return query(
    db,
    sql`with recursive up as (
        select id, parent_id, ${limit} as most
        from generations
        where id = ${id}
        union all
        select p.id, p.parent_id, (p.settings->'budget'->>'tokensPerGeneration')::float8
        from up
        join generations as p on p.id = up.parent_id
      ),
      ${treeOf(sql`select id as top, id from up where most is not null`)}
      select sum(g.input_tokens + g.output_tokens)::float8 as used, max(up.most) as limit
      from tree
      join up on up.id = tree.top
      join generations as g on g.id = tree.id
      group by tree.top`,
  )
}

/**
 * SQL: the cost in USD of the generation with this id and all its descendants at the prices of now; null when tokens of theirs
 * are of a model that has none. As in statistics, a generation counts for the model of its last step. Decimals are exact.
 */
export const totalCostOf = (id: SQL | PgColumn): SQL => sql`(
    with recursive ${treeOf(sql`select ${id} as top, ${id} as id`)}
    select case
        when coalesce(sum(priced.tokens) filter (where rates is null), 0) = 0
          then coalesce(sum(
            (priced.input - priced.cached) * (rates->>0)::numeric
            + priced.cached * (rates->>1)::numeric
            + priced.output * (rates->>2)::numeric
          ) / 1000000, 0)::float8
      end
    from (
      select g.input_tokens + g.output_tokens as tokens,
        g.input_tokens as input,
        least(g.cached_input_tokens, g.input_tokens) as cached,
        g.output_tokens as output,
        ${ratesOf(sql`g`)} as rates
      from tree
      join generations as g on g.id = tree.id
      where g.model is not null
    ) as priced
  )`

/** The cost of each of these generations (`totalCostOf`), in their order. Checks no permission. */
export async function loadTotalCosts(db: Database, ids: readonly string[]): Promise<(number | null)[]> {
  const rows = await query<{ id: string; cost: number | null }>(
    db,
    sql`select asked.id, ${totalCostOf(sql`asked.id`)} as cost from generations as asked where asked.id in ${[...ids]}`,
  )
  const costs = new Map(rows.map(({ id, cost }) => [id, cost]))
  return ids.map((id) => costs.get(id) ?? null)
}
