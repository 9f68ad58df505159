/** Shared token buckets in PostgreSQL: one statement takes a chunk. */
import { query, type Database } from '../db/database.ts'
import { sql, type SQL } from '../db/sql.ts'
import type { BucketStore } from './shared-buckets.ts'

/** How often full buckets are deleted, in milliseconds. */
const sweepMs = 10 * 60_000

/** The table is unlogged: a crash may empty it, which refills the buckets. Times are those of the database clock. */
export function postgresBuckets(db: Database): BucketStore {
  const sweep = setInterval(() => void deleteFull(db).catch(() => {}), sweepMs)
  sweep.unref()
  return {
    async take(name, { capacity, perMs }, needed, chunk) {
      const [most, least, wanted] = [sql`${capacity}::float8`, sql`${needed}::float8`, sql`${chunk}::float8`]
      const elapsedMs = sql`greatest(0, extract(epoch from clock_timestamp() - b.at) * 1000)`
      const available = sql`least(${most}, b.tokens + ${elapsedMs} * ${perMs}::float8)`
      const taken = sql`case when ${available} >= ${least} then least(${wanted}, ${available}) else 0 end`
      const takenFromFull = sql`least(${wanted}, ${most})`
      const fullWithout = (missing: SQL) =>
        sql`clock_timestamp() + (${missing}) / ${perMs}::float8 * interval '1 millisecond'`
      const [row] = await query<{ granted: number; left: number }>(
        db,
        sql`insert into rate_buckets as b (name, tokens, granted, at, full_at)
          values (${name}, ${most} - ${takenFromFull}, ${takenFromFull}, clock_timestamp(), ${fullWithout(takenFromFull)})
          on conflict (name) do update set
            tokens = ${available} - (${taken}),
            granted = ${taken},
            at = clock_timestamp(),
            full_at = ${fullWithout(sql`${most} - ${available} + ${taken}`)}
          returning granted, tokens as left`,
      )
      return row!
    },
    close: async () => clearInterval(sweep),
  }
}

/** Deletes the buckets that are full, as one that has no row is. */
export async function deleteFull(db: Database): Promise<void> {
  await query(
    db,
    sql`delete from rate_buckets where coalesce(full_at, at + interval '10 minutes') < clock_timestamp()`,
  )
}
