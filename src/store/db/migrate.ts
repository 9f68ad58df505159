/** Brings the tables up to date at start; safe when many replicas start at once. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'drizzle-orm'
import { drizzle as overPostgres } from 'drizzle-orm/postgres-js'
import { migrate as migratePglite } from 'drizzle-orm/pglite/migrator'
import { migrate as migratePostgres } from 'drizzle-orm/postgres-js/migrator'
import type { Connection } from './connect.ts'
import { query, type Database } from './database.ts'

/** Any constant will do; it only has to be ours. */
const lockNumber = 4_215_203_781

/**
 * Applies the committed migrations that are missing, then aligns the order of events with this cluster. On PostgreSQL
 * under an advisory lock on a connection of its own: without it three of four replicas that start together fail.
 */
export async function migrate(connection: Connection): Promise<void> {
  const options = { migrationsFolder: migrationsFolder() }
  if (!connection.sql) {
    await migratePglite(connection.db as never, options)
    await alignCommitOrder(connection.db)
    return
  }
  // postgres.js waits for ever when its very first connection is opened by a reservation without fetching types.
  await connection.sql`select 1`
  const reserved = await connection.sql.reserve()
  try {
    await reserved`select pg_advisory_lock(${lockNumber})`
    await migratePostgres(overPostgres(connection.sql), options)
    await alignCommitOrder(connection.db)
  } finally {
    await reserved`select pg_advisory_unlock(${lockNumber})`.catch(() => {})
    reserved.release()
  }
}

/**
 * Events are ordered by transaction id, and a database that was moved to another cluster starts its ids anew. Here the
 * shift grows so that new events come after all old ones.
 */
async function alignCommitOrder(db: Database): Promise<void> {
  await query(
    db,
    sql`with newest as (select coalesce(max(commit_order), 0) as at
        from (select commit_order from events order by id desc limit 1000) as last),
      this_one as (select pg_current_xact_id()::text::bigint as xid)
      insert into installation (id, commit_shift)
        select 'this', case when at >= xid then (at - xid + 1)::text else '0' end from newest, this_one
      on conflict (id) do update set commit_shift =
        (select greatest(installation.commit_shift::bigint,
          case when at >= xid + installation.commit_shift::bigint then at - xid + 1 else 0 end)::text
          from newest, this_one)`,
  )
}

/** The folder lies beside src in a checkout and beside dist in an installation. */
function migrationsFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (let up = 0; up < 6; up++, folder = dirname(folder)) {
    const candidate = join(folder, 'migrations')
    if (existsSync(join(candidate, 'meta', '_journal.json'))) return candidate
  }
  throw new Error('The folder "migrations" was not found beside the program.')
}
