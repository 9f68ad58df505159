/** A row or table of PostgreSQL locked by another connection, so that requests queue behind it in a known order. */
import postgres from 'postgres'

export interface HeldRow {
  /** Resolves when this many statements (only those with text like `like`) wait for a lock, or at the release. */
  waiting(count: number, like?: string): Promise<void>
  /** Lets them continue, in the order in which they arrived. */
  release(): Promise<void>
}

/** Locks the row until `release`. */
export const holdRow = (url: string, table: string, id: string): Promise<HeldRow> =>
  hold(url, `select 1 from ${table} where id = $1 for update`, [id])

/** Lets the table be read and not be written until `release`. */
export const holdWrites = (url: string, table: string): Promise<HeldRow> =>
  hold(url, `lock table ${table} in share mode`, [])

async function hold(url: string, statement: string, values: string[]): Promise<HeldRow> {
  const own = postgres(url, { max: 2, onnotice: () => {} })
  const holder = await own.reserve()
  let released = false
  await holder`begin`
  await holder.unsafe(statement, values)
  return {
    async waiting(count, like = '%') {
      while (!released) {
        const [row] = await own<{ n: number }[]>`select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query ilike ${like}`
        if (row!.n >= count) return
      }
    },
    async release() {
      released = true
      await holder`rollback`
      holder.release()
      await own.end({ timeout: 1 })
    },
  }
}
