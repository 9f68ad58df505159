/** Shared buckets in PostgreSQL: one statement takes a chunk, from a table that a crash may empty. */
import { sql } from 'drizzle-orm'
import { query, type Database } from '../db/database.ts'
import type { BucketStore } from './shared-buckets.ts'

/** How often buckets that are full again are forgotten, and how old they are then, in milliseconds. */
const sweepMs = 10 * 60_000

/** The table is unlogged: a bucket that is lost is a full one. Times are the database's. */
export function postgresBuckets(db: Database): BucketStore {
  const sweep = setInterval(() => {
    void query(
      db,
      sql`delete from rate_buckets where at < clock_timestamp() - ${sweepMs}::float8 * interval '1 millisecond'`,
    ).catch(() => {})
  }, sweepMs)
  sweep.unref()
  return {
    async take(name, { capacity, perMs }, needed, chunk) {
      const [c, n, want] = [sql`${capacity}::float8`, sql`${needed}::float8`, sql`${chunk}::float8`]
      const now = sql`least(${c}, b.tokens + extract(epoch from clock_timestamp() - b.at) * 1000 * ${perMs}::float8)`
      const given = sql`case when ${now} >= ${n} then least(${want}, ${now}) else 0 end`
      const [row] = await query<{ granted: number; left: number }>(
        db,
        sql`insert into rate_buckets as b (name, tokens, granted, at)
          values (${name}, ${c} - least(${want}, ${c}), least(${want}, ${c}), clock_timestamp())
          on conflict (name) do update set tokens = ${now} - (${given}), granted = ${given}, at = clock_timestamp()
          returning granted, tokens as left`,
      )
      return row!
    },
    close: async () => clearInterval(sweep),
  }
}
