/** Brings the tables up to date at start; safe when many replicas start at once. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { PgliteDatabase } from 'drizzle-orm/pglite'
import { migrate as migratePglite } from 'drizzle-orm/pglite/migrator'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import { migrate as migratePostgres } from 'drizzle-orm/postgres-js/migrator'
import type { Connection } from './connect.ts'
import { openLog } from '../events/incarnation.ts'
import { query, sqlState, type Database } from './database.ts'
import { databaseOn } from './postgres/client.ts'

/** Any constant will do; it only has to be ours. */
const lockNumber = 4_215_203_781

/** How often a migration that has to wait for a lock steps back, so that others get through, and for how long. */
const tries = 60
const stepBackMs = 500

/**
 * Applies the committed migrations that are missing, then opens the log of events in this cluster. On PostgreSQL
 * under an advisory lock on a connection of its own: without it three of four replicas that start together fail. A
 * migration waits at most two seconds for a lock, since everybody else would wait behind it, and then tries again.
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
  for (let left = tries; ; left--) {
    try {
      await work()
      return
    } catch (error) {
      if (left === 0 || sqlState(error) !== '55P03') throw error
      await pause(stepBackMs)
    }
  }
}

/**
 * Replicas of the release before order events by transaction id, and a database that was moved to another cluster starts its
 * ids anew. Here the shift grows so that new events come after all old ones.
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
