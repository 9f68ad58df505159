/** Shared token buckets in PostgreSQL: one statement takes a chunk. */
import { query, type Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { BucketStore } from './shared-buckets.ts'

/** How often unused buckets are deleted, and after how long without use, in milliseconds. */
const sweepMs = 10 * 60_000

/** The table is unlogged: a crash may empty it, which refills the buckets. Times are those of the database clock. */
export function postgresBuckets(db: Database): BucketStore {
  const sweep = setInterval(() => {
    void query(
      db,
      sql`delete from rate_buckets
        where at < clock_timestamp() - ${sweepMs}::float8 * interval '1 millisecond'`,
    ).catch(() => {})
  }, sweepMs)
  sweep.unref()
  return {
    async take(name, { capacity, perMs }, needed, chunk) {
      const [most, least, wanted] = [sql`${capacity}::float8`, sql`${needed}::float8`, sql`${chunk}::float8`]
      const elapsedMs = sql`extract(epoch from clock_timestamp() - b.at) * 1000`
      const available = sql`least(${most}, b.tokens + ${elapsedMs} * ${perMs}::float8)`
      const taken = sql`case when ${available} >= ${least} then least(${wanted}, ${available}) else 0 end`
      const takenFromFull = sql`least(${wanted}, ${most})`
      const [row] = await query<{ granted: number; left: number }>(
        db,
        sql`insert into rate_buckets as b (name, tokens, granted, at)
          values (${name}, ${most} - ${takenFromFull}, ${takenFromFull}, clock_timestamp())
          on conflict (name) do update set
            tokens = ${available} - (${taken}),
            granted = ${taken},
            at = clock_timestamp()
          returning granted, tokens as left`,
      )
      return row!
    },
    close: async () => clearInterval(sweep),
  }
}
