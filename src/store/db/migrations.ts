/** Which migrations a program knows and the journal of a database has, and how one is applied. */
import { writeJson, readJson } from '../../core/json.ts'
import { atomically, query, sqlState, type Database } from './database.ts'
import { sql } from './sql.ts'
import { UnusableDatabaseError } from './storage-error.ts'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readMigrationFiles, type MigrationMeta } from 'drizzle-orm/migrator'
import { withholdTables } from './schema.ts'

/** A migration of this program, as far as the journal records it. */
interface KnownMigration {
  name: string
  /** SHA-256 of its text, in hex; the same for every kind of line ends. */
  hash: string
  /** When it was made, in milliseconds since 1970; these times rise. */
  folderMillis: number
}

export interface JournalEntry {
  name: string
  /** SHA-256 of its text, in hex. */
  hash: string
  /** When it was made, in milliseconds since 1970; these times rise. */
  madeAt: number
}

const table = sql.raw('gatehouse_migrations')
const ofDrizzle = sql.raw('drizzle.__drizzle_migrations')

/**
 * What the database has, oldest first; empty in a new one. Without a journal, what a release before it has applied: rows of other
 * applications are not read as ours. Writes nothing.
 */
export async function readJournal(db: Database, own: readonly KnownMigration[]): Promise<JournalEntry[]> {
  return (await hasJournal(db)) ? ownEntries(db) : entriesOfDrizzle(db, own)
}

/** When the newest migration that was applied was made; 0 in a new database. */
export async function newestApplied(db: Database, own: readonly KnownMigration[]): Promise<number> {
  return (await readJournal(db, own)).at(-1)?.madeAt ?? 0
}

/** The name of the newest migration that the database has, of whatever release. */
export async function newestName(db: Database): Promise<string | null> {
  const [row] = await query<{ name: string }>(
    db,
    sql`select name from ${table} order by made_at desc limit 1`,
  )
  return row?.name ?? null
}

/** Whether the schema has a journal. */
export const hasJournal = (db: Database): Promise<boolean> => hasTable(db, 'gatehouse_migrations')

/** Makes the journal, with what a release before it has applied here. Call it under the lock of migrations. */
export async function makeJournal(db: Database, entries: readonly JournalEntry[]): Promise<void> {
  await atomically(db, async (tx) => {
    await query(
      tx,
      sql`create table ${table} (
        name text primary key, hash text not null, made_at bigint not null, applied_at timestamptz not null default now())`,
    )
    await query(
      tx,
      sql`insert into ${table} (name, hash, made_at) select name, hash, "madeAt"
        from json_to_recordset(${writeJson(entries)}::json) as x(name text, hash text, "madeAt" bigint)`,
    )
  })
}

/** The row of a migration that was applied in this transaction. */
const recordOf = ({ name, hash, folderMillis }: KnownMigration) =>
  sql`insert into ${table} (name, hash, made_at) values (${name}, ${hash}, ${folderMillis}::bigint)`

/** Throws UnusableDatabaseError when a migration was applied with another text than this program has. */
export function refuseChanged(journal: readonly JournalEntry[], own: readonly KnownMigration[]): void {
  const hashes = new Map(journal.map(({ name, hash }) => [name, hash]))
  const changed = own.filter(({ name, hash }) => hashes.has(name) && hashes.get(name) !== hash)
  if (changed.length === 0) return
  throw new UnusableDatabaseError(
    `The database was migrated with another text of ${changed.map(({ name }) => name).join(', ')} than this release has. ` +
      'Install the release again as it was published, or restore a backup.',
  )
}

async function ownEntries(db: Database): Promise<JournalEntry[]> {
  return query<JournalEntry>(
    db,
    sql`select name, hash, made_at::float8 as "madeAt" from ${table} order by made_at`,
  )
}

/**
 * Those of this schema: another one has its own tables, and its rows in the same table. A row is ours by the time of a
 * migration, which no other application has to the millisecond.
 */
async function entriesOfDrizzle(db: Database, own: readonly KnownMigration[]): Promise<JournalEntry[]> {
  if (!(await hasTable(db, 'projects'))) return []
  const rows = await query<{ at: number }>(
    db,
    sql`select distinct created_at::float8 as at from ${ofDrizzle}`,
  ).catch((error: unknown) => {
    // No such table or schema.
    if (/^(42P01|3F000)$/.test(sqlState(error) ?? '')) return []
    throw error
  })
  const times = new Set(rows.map(({ at }) => at))
  return own
    .filter(({ folderMillis }) => times.has(folderMillis))
    .map(({ name, hash, folderMillis }) => ({ name, hash, madeAt: folderMillis }))
}

async function hasTable(db: Database, name: string): Promise<boolean> {
  const [row] = await query<{ is: boolean }>(db, sql`select to_regclass(${name}) is not null as is`)
  return row!.is
}

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
