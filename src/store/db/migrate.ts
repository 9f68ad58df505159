/** Applies migrations at the start; safe when many replicas start at once. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as pause } from 'node:timers/promises'
import type { PgliteDatabase } from 'drizzle-orm/pglite'
import { migrate as migratePglite } from 'drizzle-orm/pglite/migrator'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import { migrate as migratePostgres } from 'drizzle-orm/postgres-js/migrator'
import type { Connection } from './connect.ts'
import { openLog } from '../events/incarnation.ts'
import { query, sqlState, type Database } from './database.ts'
import { sql } from './sql.ts'
import { databaseOn } from './postgres/client.ts'

/** The key of the advisory lock: an arbitrary constant. */
const lockNumber = 4_215_203_781

/** How often a migration that could not get a lock is tried again, and the pause before, in milliseconds. */
const maxRetries = 60
const retryMs = 500

/**
 * Applies the missing migrations, then opens the event log in this cluster. On PostgreSQL this holds an advisory lock
 * on a connection of its own: without it, all but one of the replicas that start together fail. A migration waits at
 * most two seconds for a lock, because other statements queue behind it, and then tries again.
 */
export async function migrate(connection: Connection): Promise<void> {
  const options = { migrationsFolder: migrationsFolder() }
  if (!connection.openSession) {
    await migratePglite(connection.db as PgliteDatabase, options)
    await alignCommitOrder(connection.db)
    await openLog(connection.db)
    return
  }
  const session = await connection.openSession()
  const db = databaseOn(session)
  try {
    await whenUnlocked(() => query(db, sql`select pg_advisory_lock(${lockNumber})`))
    await whenUnlocked(() => migratePostgres(db as PostgresJsDatabase, options))
    await alignCommitOrder(db)
    await openLog(db)
  } finally {
    // The lock ends with its connection.
    await session.end(2000)
  }
}

async function whenUnlocked(work: () => Promise<unknown>): Promise<void> {
  for (let left = maxRetries; ; left--) {
    try {
      await work()
      return
    } catch (error) {
      if (left === 0 || sqlState(error) !== '55P03') throw error
      await pause(retryMs)
    }
  }
}

/**
 * Replicas of the previous release order events by transaction id, and these ids start again in another cluster. Raises
 * the shift so that new events sort after all old ones.
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

/** The folder is beside src in a checkout and beside dist in an installation. */
function migrationsFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (let up = 0; up < 6; up++, folder = dirname(folder)) {
    const candidate = join(folder, 'migrations')
    if (existsSync(join(candidate, 'meta', '_journal.json'))) return candidate
  }
  throw new Error(
    'The folder "migrations" was not found in the folder of the program or in one of its five parents.',
  )
}
