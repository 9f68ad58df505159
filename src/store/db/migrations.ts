/** Which migrations a program knows and a database has, and how one is applied. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readMigrationFiles, type MigrationMeta } from 'drizzle-orm/migrator'
import { atomically, query, sqlState, type Database } from './database.ts'
import { sql } from './sql.ts'
import { UnusableDatabaseError } from './storage-error.ts'

/**
 * The oldest migration that a program must know to run beside this one. Later migrations only add (test/store/migrations.test.ts):
 * raise this one release after the last program that needs what a migration takes away.
 */
export const oldestCompatible = '0024_waiting-messages'

export type Migration = MigrationMeta

/** The migrations of this program, oldest first; their times rise. The folder is beside src in a checkout and beside dist in an installation. */
export function knownMigrations(folder: string = migrationsFolder()): Migration[] {
  return readMigrationFiles({ migrationsFolder: folder })
}

/** When the migration of this name was made. */
export function timeOf(tag: string, folder: string = migrationsFolder()): number {
  return journalIn(folder).find((entry) => entry.tag === tag)!.when
}

/** The name of the newest migration of this program, which a database that it uses has. */
export function newestMigration(): string {
  return journalIn(migrationsFolder()).at(-1)!.tag
}

function journalIn(folder: string) {
  const journal = JSON.parse(readFileSync(join(folder, 'meta', '_journal.json'), 'utf8')) as {
    entries: { tag: string; when: number }[]
  }
  return journal.entries
}

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

/** The table of applied migrations, which is that of Drizzle's migrator. Releases before this one use that. */
const applied = sql.raw('drizzle.__drizzle_migrations')

/** The time of the newest migration that was applied; 0 in a new database. */
export async function newestApplied(db: Database): Promise<number> {
  try {
    const rows = await query<{ at: number }>(
      db,
      sql`select coalesce(max(created_at), 0)::float8 as at from ${applied}`,
    )
    return rows[0]!.at
  } catch (error) {
    // No such table or schema.
    if (!/^(42P01|3F000)$/.test(sqlState(error) ?? '')) throw error
    await query(db, sql`create schema if not exists drizzle`)
    await query(
      db,
      sql`create table if not exists ${applied} (id serial primary key, hash text not null, created_at bigint)`,
    )
    return 0
  }
}

/**
 * Throws UnusableDatabaseError when the schema is newer than this program and not marked as compatible with it: a newer
 * program may write what this one would misread.
 */
export async function refuseNewerSchema(db: Database, schemaAt: number, own: readonly Migration[]) {
  const newest = own.at(-1)!.folderMillis
  if (schemaAt <= newest) return
  const rows = await query<{ from: number | null }>(
    db,
    sql`select compatible_from::float8 as from from installation`,
  ).catch(() => [])
  const from = rows[0]?.from ?? null
  if (from !== null && from <= newest) return
  throw new UnusableDatabaseError(
    'The database was migrated by a newer release of Gatehouse, which this one cannot run beside. Start that release, ' +
      'or restore a backup from before the upgrade.',
  )
}

/** Records with which older programs the schema is compatible, after the migrations of this program. */
export async function markCompatible(db: Database, from: number): Promise<void> {
  await query(
    db,
    sql`update installation set compatible_from = ${from}::bigint
      where compatible_from is distinct from ${from}::bigint`,
  )
}

/** A migration of such statements has no transaction: they are repeated until they are done. */
const concurrently = /^\s*create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+"?(\w+)"?/i

/**
 * Applies a migration in a transaction of its own, so that it holds no lock while the next one waits for another. Indexes that
 * are built concurrently are built outside of one, each again if an earlier try left it invalid.
 */
export async function applyMigration(db: Database, migration: Migration): Promise<void> {
  const record = sql`insert into ${applied} (hash, created_at) values (${migration.hash}, ${migration.folderMillis}::bigint)`
  if (!migration.sql.some((text) => concurrently.test(text))) {
    await atomically(db, async (tx) => {
      for (const text of migration.sql) await query(tx, sql.raw(text))
      await query(tx, record)
    })
    return
  }
  // It waits for transactions that run, and nothing waits for it.
  const [before] = await query<{ limit: string }>(db, sql`select current_setting('lock_timeout') as limit`)
  await query(db, sql`set lock_timeout = 0`)
  try {
    for (const text of migration.sql) await buildIndex(db, text)
  } finally {
    await query(db, sql`select set_config('lock_timeout', ${before!.limit}, false)`)
  }
  await query(db, record)
}

async function buildIndex(db: Database, text: string): Promise<void> {
  const name = concurrently.exec(text)![1]!
  const invalid = await query(
    db,
    sql`select 1 from pg_index where indexrelid = to_regclass(${name}) and not indisvalid`,
  )
  if (invalid.length > 0) await query(db, sql.raw(`drop index concurrently if exists "${name}"`))
  await query(db, sql.raw(text))
}
