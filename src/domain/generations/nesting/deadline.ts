/**
 * A generation's own time. It does not run while a person is asked, in the generation or in a run under it: the time that
 * approvals were open, counted once where they overlap, is added to its deadline when it is looked at.
 */
import { sql, type SQL } from 'drizzle-orm'
import { query, type Database } from '../../../store/db/database.ts'
import { treeOf } from './tree.ts'

/** The approvals of a generation and of all runs under it, as a `with … ` to be followed by a select over `asked`. */
function askedUnder(id: SQL): SQL {
  return sql`with recursive ${treeOf(sql`select ${id} as top, ${id} as id`)},
    asked as (select a.* from approvals as a join tree on a.generation_id = tree.id)`
}

/** The time for which people were asked, as an interval. */
const waited = sql`coalesce((select sum(upper(span) - lower(span)) from unnest((select range_agg(
    tstzrange(created_at, greatest(created_at, coalesce(settled_at, now())))) from asked)) as span), interval '0')`

/** When the time of the generation is over, as a moment in SQL. `id` and `deadline` are columns of its row. */
export function ownDeadline(id: SQL, deadline: SQL): SQL {
  return sql`(${askedUnder(id)} select ${deadline} + ${waited})`
}

/**
 * When the time of a generation whose deadline has come is over, and must be looked at again, in milliseconds since 1970
 * (database clock). While a person is asked that is not before the time for the answer is over.
 */
export async function readOwnDeadline(db: Database, id: string, deadlineAt: Date): Promise<number> {
  const deadline = sql`to_timestamp(${deadlineAt.getTime() / 1000}::float8)`
  const [row] = await query<{ end: number; now: number; asked: number | null }>(
    db,
    sql`${askedUnder(sql`${id}::text`)}
      select (extract(epoch from ${deadline} + ${waited}) * 1000)::float8 as "end",
        (extract(epoch from now()) * 1000)::float8 as now,
        (select (extract(epoch from min(expires_at)) * 1000)::float8 from asked where status = 'PENDING') as asked`,
  )
  const { end, now, asked } = row!
  return end > now ? Math.max(end, asked ?? 0) : end
}
