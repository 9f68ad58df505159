/** Migrations beside a running release: what they may contain, how they lock, and which programs start on a newer schema. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { query } from '../../src/store/db/database.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { oldestCompatible } from '../../src/store/db/migrations.ts'
import { sql } from '../../src/store/db/sql.ts'
import { faultsOfMigration } from '../migration-rules.ts'
import { hasPostgres, memoryDatabase, postgresDatabase } from '../support/databases.ts'

interface Entry {
  idx: number
  version: string
  when: number
  tag: string
  breakpoints: boolean
}

const closers: (() => unknown)[] = []
const closeAll = async () => {
  for (const close of closers.splice(0).toReversed()) await close()
}
afterEach(closeAll)
afterAll(closeAll)

const journalOf = async (folder: string): Promise<{ entries: Entry[] }> =>
  JSON.parse(await readFile(join(folder, 'meta', '_journal.json'), 'utf8'))

/** The migrations of this release, and these after them. */
async function releaseWith(texts: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-migrations-'))
  closers.push(() => rm(folder, { recursive: true, force: true }))
  await cp('migrations', folder, { recursive: true })
  const journal = await journalOf(folder)
  for (const [i, text] of texts.entries()) {
    const last = journal.entries.at(-1)!
    const tag = `9${i}_next`
    journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1000, tag })
    await writeFile(join(folder, `${tag}.sql`), text)
  }
  await writeFile(join(folder, 'meta', '_journal.json'), JSON.stringify(journal))
  return folder
}

async function openPostgres(): Promise<{ connection: Connection; url: string }> {
  const { url, drop } = await postgresDatabase()
  closers.push(drop)
  const connection = await connect({ kind: 'postgres', url, poolSize: 3 })
  closers.push(() => connection.close())
  await migrate(connection)
  return { connection, url }
}

describe('the migrations since the release before', () => {
  test('each can run beside programs of that release', async () => {
    const { entries } = await journalOf('migrations')
    const from = entries.findIndex(({ tag }) => tag === oldestCompatible)
    expect(from).toBeGreaterThan(0)
    for (const { tag } of entries.slice(from + 1))
      expect(faultsOfMigration(await readFile(`migrations/${tag}.sql`, 'utf8')), tag).toEqual([])
  })

  test('their times rise: a database applies what is newer than its newest one', async () => {
    const times = (await journalOf('migrations')).entries.map(({ when }) => when)
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b))
  })

  test.each([
    ['ALTER TABLE "a" DROP COLUMN "b";', /changes what old programs use/],
    ['ALTER TABLE "a" RENAME COLUMN "b" TO "c";', /changes what old programs use/],
    ['ALTER TABLE "a" RENAME TO "b";', /changes what old programs use/],
    ['DROP TABLE "a";', /not known/],
    ['DROP INDEX "a";', /not known/],
    ['ALTER TABLE "a" ALTER COLUMN "b" SET DATA TYPE bigint;', /changes what/],
    ['ALTER TABLE "a" ALTER COLUMN "b" SET NOT NULL;', /changes what/],
    ['ALTER TABLE "a" ALTER COLUMN "b" DROP NOT NULL;', /changes what/],
    ['ALTER TABLE "a" ADD COLUMN "b" text NOT NULL;', /do not fill/],
    ['ALTER TABLE "a" ADD COLUMN "b" uuid DEFAULT gen_random_uuid() NOT NULL;', /changes what/],
    ['ALTER TABLE "a" ADD CONSTRAINT "b" CHECK (c > 0);', /changes what/],
    ['CREATE INDEX "i" ON "a" USING btree ("b");', /while a is locked/],
    ['UPDATE "a" SET "b" = 1;', /not known/],
    ['CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ select 1 $$;', /not known/],
    [
      'ALTER TABLE "a" ADD COLUMN "b" text;--> statement-breakpoint\nALTER TABLE "c" ADD COLUMN "d" text;',
      /a and c/,
    ],
    [
      'CREATE TABLE "n" ("id" text);--> statement-breakpoint\nALTER TABLE "n" ADD CONSTRAINT "f" FOREIGN KEY ("id") REFERENCES "a"("id");' +
        '--> statement-breakpoint\nALTER TABLE "b" ADD COLUMN "d" text;',
      /a and b/,
    ],
    [
      'CREATE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "a" ("b");--> statement-breakpoint\nALTER TABLE "a" ADD COLUMN "c" text;',
      /of its own/,
    ],
  ])('%s is refused', (text, reason) => {
    expect(faultsOfMigration(text).join('\n')).toMatch(reason)
  })

  test.each([
    'ALTER TABLE "a" ADD COLUMN "b" text;--> statement-breakpoint\nALTER TABLE "a" ADD COLUMN "c" bigint;',
    `ALTER TABLE "a" ADD COLUMN "b" jsonb DEFAULT '[]' NOT NULL;`,
    'ALTER TABLE "a" ADD COLUMN "b" timestamp (3) with time zone DEFAULT now() NOT NULL;',
    'CREATE TABLE "n" ("id" text);--> statement-breakpoint\nCREATE INDEX "i" ON "n" USING btree ("id");',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "a" ("b");',
    'ALTER TABLE "a" ADD CONSTRAINT "b" CHECK (c > 0) NOT VALID;',
    'ALTER TABLE "a" VALIDATE CONSTRAINT "b";',
  ])('%s may run beside', (text) => {
    expect(faultsOfMigration(text)).toEqual([])
  })
})

describe.skipIf(!hasPostgres)('on PostgreSQL under load', () => {
  const columnOf = (table: string) => `ALTER TABLE "${table}" ADD COLUMN "later" text;`

  /** A transaction of another program, which writes one table and then another. */
  async function writer(url: string) {
    const client = postgres(url, { max: 1, onnotice: () => {} })
    closers.push(() => client.end({ timeout: 1 }))
    // When there is a deadlock, the migration is the one that finds it.
    await client.unsafe(`set deadlock_timeout = '30s'`)
    await client.unsafe('begin; update generations set epoch = epoch')
    return client
  }
  const waitsFor = (connection: Connection, text: string) =>
    vi.waitUntil(
      async () => {
        const rows = await query(
          connection.db,
          sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ilike ${`%${text}%`}`,
        )
        return rows.length > 0
      },
      { timeout: 90_000, interval: 10 },
    )

  test('a migration holds no lock while the next one waits for another', { timeout: 90_000 }, async () => {
    const { connection, url } = await openPostgres()
    const client = await writer(url)
    const folder = await releaseWith([columnOf('tool_calls'), columnOf('generations')])
    const migrated = migrate(connection, folder)
    await waitsFor(connection, 'alter table "generations"')
    // It would wait for the migration, which waits for it.
    await client.unsafe(`set lock_timeout = '1s'`)
    await client.unsafe('update tool_calls set epoch = epoch')
    await client.unsafe('commit')
    await migrated
  })

  test('a migration that a deadlock has ended is tried again', { timeout: 90_000 }, async () => {
    const { connection, url } = await openPostgres()
    const client = await writer(url)
    const both = `${columnOf('tool_calls')}--> statement-breakpoint\n${columnOf('generations')}`
    const migrated = migrate(connection, await releaseWith([both]))
    await waitsFor(connection, 'alter table "generations"')
    await client.unsafe('update tool_calls set epoch = epoch')
    const ended = sql`select 1 from pg_stat_database where datname = current_database() and deadlocks > 0`
    await vi.waitUntil(async () => (await query(connection.db, ended)).length > 0, { timeout: 90_000 })
    await client.unsafe('commit')
    await migrated
  })
})

const kinds = [
  [
    'PGlite',
    async () => {
      const connection = await connect(await memoryDatabase())
      closers.push(() => connection.close())
      return connection
    },
  ],
  ...(hasPostgres ? [['PostgreSQL', async () => (await openPostgres()).connection] as const] : []),
] as const

describe.each(kinds)('on %s', (_kind, open) => {
  test('a program that is older than the schema starts only where that is marked as compatible', async () => {
    const connection = await open()
    await migrate(connection, await releaseWith(['CREATE TABLE "later" ("id" text);']))
    // As the newer release has marked it: its migrations only add.
    await migrate(connection)
    const newest = (await journalOf('migrations')).entries.at(-1)!.when
    const allow = (from: number | null) =>
      query(connection.db, sql`update installation set compatible_from = ${from}::bigint`)
    await allow(newest)
    await migrate(connection)
    for (const from of [newest + 1, null]) {
      await allow(from)
      await expect(migrate(connection)).rejects.toThrow(/migrated by a newer release/)
    }
  })

  test('an index is built concurrently, and again when an earlier try left it invalid', async () => {
    const connection = await open()
    const index = 'CREATE INDEX CONCURRENTLY IF NOT EXISTS "agents_later" ON "agents" ("created_at");'
    if (connection.kind === 'postgres') {
      await query(connection.db, sql.raw(index))
      await query(
        connection.db,
        sql`update pg_index set indisvalid = false where indexrelid = 'agents_later'::regclass`,
      )
    }
    await migrate(connection, await releaseWith([index]))
    const rows = await query<{ valid: boolean }>(
      connection.db,
      sql`select indisvalid as valid from pg_index where indexrelid = 'agents_later'::regclass`,
    )
    expect(rows).toEqual([{ valid: true }])
  })
})
