/** Applies migrations at the start; safe when many replicas start at once, and beside replicas of the release before. */
import { setTimeout as pause } from 'node:timers/promises'
import { silentLog, type Log } from '../../core/log.ts'
import { openLog } from './incarnation.ts'
import type { Connection } from './connect.ts'
import { query, sqlState, type Database } from './database.ts'
import {
  hasJournal,
  makeJournal,
  readJournal,
  refuseChanged,
  applyMigration,
  knownMigrations,
  markCompatible,
  oldestCompatible,
  refuseNewerSchema,
  tablesOf,
  timeOf,
} from './migrations.ts'
import { openSchema, refuseTakenNames, refuseUnwritable, withholdTables } from './schema.ts'
import { proveSession } from './session-settings.ts'
import { databaseOn } from './postgres/client.ts'
import { refuseOtherDatabase, refuseSharedSessions } from './postgres/pooler.ts'
import { sql } from './sql.ts'

/** The key of the advisory lock: an arbitrary constant. */
const lockNumber = 4_215_203_781

/** How often what could not get a lock is tried again, and the pause before, in milliseconds. */
const maxRetries = 300
const retryMs = 500

type Migrated = Pick<Connection, 'db' | 'schema' | 'openSession' | 'openPooled'>

/**
 * Applies the missing migrations, then opens the event log in this cluster. On PostgreSQL this holds an advisory lock
 * on a connection of its own: without it, all but one of the replicas that start together fail. Each migration is a
 * transaction; it waits at most two seconds for a lock, because other statements queue behind it, and is tried again,
 * also after a deadlock. Throws UnusableDatabaseError when a newer release has migrated the database and is not
 * compatible with this one, behind a pooler that shares connections between transactions, and when the two addresses of the
 * database lead to different ones.
 */
export async function migrate(
  { db: own, schema, openSession, openPooled }: Migrated,
  folder?: string,
  log: Pick<Log, 'warn'> = silentLog,
): Promise<void> {
  const target = { schema, folder, log }
  if (!openSession || !openPooled) return bringUp(own, target)
  await refuseSharedSessions('DATABASE_URL', openPooled)
  if (openPooled !== openSession) await refuseSharedSessions('DIRECT_URL', openSession)
  const session = await openSession()
  const db = databaseOn(session)
  try {
    await takeLock(db)
    if (openPooled !== openSession) await refuseOtherDatabase(session, lockNumber, openPooled)
    await bringUp(db, target)
  } finally {
    // The lock ends with its connection.
    await session.end(2000)
  }
}

interface Destination {
  schema: string
  folder: string | undefined
  log: Pick<Log, 'warn'>
}

async function bringUp(db: Database, { schema, folder, log }: Destination): Promise<void> {
  await proveSession(db)
  await openSchema(db, schema)
  const own = knownMigrations(folder)
  const isNew = !(await hasJournal(db))
  if (isNew) await refuseUnwritable(db, schema)
  const journal = await readJournal(db, own)
  if (journal.length === 0) await refuseTakenNames(db, schema, own.flatMap(tablesOf))
  const known = new Set(journal.map(({ name }) => name))
  // Those that a release before it has created; before there is a journal, so that a start that dies here does it again.
  const old = isNew ? own.filter(({ name }) => known.has(name)) : []
  const roles = new Set(await withholdTables(db, old.flatMap(tablesOf)))
  if (isNew) await makeJournal(db, journal)
  refuseChanged(journal, own)
  const schemaAt = journal.at(-1)?.madeAt ?? 0
  await refuseNewerSchema(db, schemaAt, own)
  const missing = own.filter(({ name }) => !known.has(name))
  const between = missing.filter(({ folderMillis }) => folderMillis < schemaAt).map(({ name }) => name)
  if (between.length > 0)
    log.warn({ migrations: between }, 'migrations before the newest one are missing: they are applied now')
  if (missing.length > 0) await refuseUnwritable(db, schema)
  for (const migration of missing)
    for (const role of await whenUnlocked(() => applyMigration(db, schema, migration))) roles.add(role)
  if (roles.size > 0)
    log.warn(
      { roles: [...roles] },
      'default privileges gave other roles rights on the tables of Gatehouse: they were revoked',
    )
  await whenUnlocked(() => alignCommitOrder(db))
  await whenUnlocked(() => openLog(db))
  if (schemaAt <= own.at(-1)!.folderMillis)
    await whenUnlocked(() => markCompatible(db, timeOf(oldestCompatible, folder)))
}

/** A statement that waits for this lock would be waited for by an index that is built concurrently. */
async function takeLock(db: Database): Promise<void> {
  for (let left = maxRetries; ; left--) {
    const rows = await query<{ got: boolean }>(
      db,
      sql`select pg_try_advisory_lock(${lockNumber}::bigint) as got`,
    )
    if (rows[0]!.got) return
    if (left === 0) throw new Error('Another process has been migrating the database for too long.')
    await pause(retryMs / 5)
  }
}

/** SQLSTATEs of a lock that was not free in time, and of a deadlock that ended this party. */
const locked = new Set(['55P03', '40P01'])

async function whenUnlocked<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let left = maxRetries; ; left--) {
    try {
      return await work()
    } catch (error) {
      if (left === 0 || !locked.has(sqlState(error) ?? '')) throw error
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
