/** Which migrations a program knows and a database has, and how one is applied. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readMigrationFiles, type MigrationMeta } from 'drizzle-orm/migrator'
import { readJson } from '../../core/json.ts'
import { atomically, query, type Database } from './database.ts'
import { recordOf, type KnownMigration } from './journal.ts'
import { withholdTables } from './schema.ts'
import { sql } from './sql.ts'
import { UnusableDatabaseError } from './storage-error.ts'

/**
 * The oldest migration that a program must know to run beside this one. Later migrations only add (test/store/migrations.test.ts):
 * raise this one release after the last program that needs what a migration takes away.
 */
export const oldestCompatible = '0024_waiting-messages'

export type Migration = KnownMigration & Pick<MigrationMeta, 'sql'>

/** The migrations of this program, oldest first; their times rise. The folder is beside src in a checkout and beside dist in an installation. */
export function knownMigrations(folder: string = migrationsFolder()): Migration[] {
  const names = journalIn(folder).map(({ tag }) => tag)
  return readMigrationFiles({ migrationsFolder: folder }).map(({ sql: statements, folderMillis }, i) => {
    const text = statements.join('').replaceAll('\r\n', '\n')
    const hash = createHash('sha256').update(text).digest('hex')
    return { name: names[i]!, sql: statements, folderMillis, hash }
  })
}

/** The name of the newest migration of this program. */
export function newestMigration(): string {
  return journalIn(migrationsFolder()).at(-1)!.tag
}

/** The names of the tables that a migration creates. */
export function tablesOf(migration: Migration): string[] {
  const creating = /create table (?:if not exists )?"?(\w+)"?/gi
  return migration.sql.flatMap((text) => [...text.matchAll(creating)].map(([, name]) => name!))
}

/** When the migration of this name was made. */
export function timeOf(tag: string, folder: string = migrationsFolder()): number {
  return journalIn(folder).find((entry) => entry.tag === tag)!.when
}

function journalIn(folder: string) {
  const journal = readJson(readFileSync(join(folder, 'meta', '_journal.json'), 'utf8')) as {
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
 * are built concurrently are built outside of one, each again if an earlier try left it invalid. Returns the roles that lost rights
 * on the new tables (`withholdTables`).
 */
export async function applyMigration(db: Database, schema: string, migration: Migration): Promise<string[]> {
  const record = recordOf(migration)
  if (!migration.sql.some((text) => concurrently.test(text))) {
    return atomically(db, async (tx) => {
      for (const text of migration.sql) await query(tx, sql.raw(inSchema(schema, text)))
      await query(tx, record)
      return withholdTables(tx, tablesOf(migration))
    })
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
  return []
}

/** Every other name is looked for in the schema of the session. */
const inSchema = (schema: string, text: string) => text.replaceAll('"public".', `"${schema}".`)

async function buildIndex(db: Database, text: string): Promise<void> {
  const name = concurrently.exec(text)![1]!
  const invalid = await query(
    db,
    sql`select 1 from pg_index where indexrelid = to_regclass(${name}) and not indisvalid`,
  )
  if (invalid.length > 0) await query(db, sql.raw(`drop index concurrently if exists "${name}"`))
  await query(db, sql.raw(text))
}
