/** A range of time, and its newest rows in buckets. */
import { sql, type SQL } from '../../store/db/sql.ts'

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
