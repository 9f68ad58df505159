/**
 * The journal: which migrations a database has, each by name and hash, in the schema of Gatehouse. Releases before it kept
 * theirs in the table of Drizzle's migrator, which every Drizzle application of a database shares.
 */
import { writeJson } from '../../core/json.ts'
import { atomically, query, sqlState, type Database } from './database.ts'
import { sql } from './sql.ts'
import { UnusableDatabaseError } from './storage-error.ts'

/** A migration of this program, as far as the journal records it. */
export interface KnownMigration {
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
export const recordOf = ({ name, hash, folderMillis }: KnownMigration) =>
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
