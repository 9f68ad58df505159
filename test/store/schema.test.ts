/** PostgreSQL as people have it: other schemas, other applications, roles and settings. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { startFault } from '../../src/start-fault.ts'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { atomically, query } from '../../src/store/db/database.ts'
import { newestName, knownMigrations, newestMigration } from '../../src/store/db/migrations.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { dumpDatabase, loadDatabase } from '../../src/store/db/postgres/programs.ts'
import { sql } from '../../src/store/db/sql.ts'
import { emptyPostgresDatabase, hasPostgres, postgresDatabase } from '../support/databases.ts'
import { adminKey, openHarness } from '../support/harness.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A database without tables, and a client of its owner. */
async function emptyDatabase() {
  const made = await emptyPostgresDatabase()
  closers.push(() => made.drop())
  return { url: made.url, admin: clientOf(made.url) }
}

function clientOf(url: string): postgres.Sql {
  const client = postgres(url, { max: 1, onnotice: () => {} })
  closers.push(() => client.end({ timeout: 1 }))
  return client
}

async function open(url: string, schema?: string): Promise<Connection> {
  const connection = await connect({ kind: 'postgres', url, poolSize: 3, ...(schema ? { schema } : {}) })
  closers.push(() => connection.close())
  return connection
}

/** What is logged at a start on this database; or why there was none. */
async function startOn(url: string, schema?: string): Promise<unknown[]> {
  const warnings: unknown[] = []
  const log = { warn: (facts: object, text: string) => void warnings.push({ ...facts, text }) }
  const connection = await open(url, schema)
  return migrate(connection, undefined, log).then(
    () => warnings,
    (error: unknown) => [startFault(error)],
  )
}

const tablesOf = async (client: postgres.Sql, schema: string) =>
  (
    await client`select relname from pg_class where relkind = 'r' and relnamespace = to_regnamespace(${schema})`
  ).map((row) => row['relname'] as string)

/** A role of the database that may log in, and its address. */
async function roleOf(
  admin: postgres.Sql,
  url: string,
  role = `gatehouse_${randomUUID().slice(0, 8)}`,
): Promise<{ role: string; url: string }> {
  await admin.unsafe(`create role "${role}" login`)
  closers.push(() => admin.unsafe(`drop owned by "${role}"; drop role "${role}"`))
  const own = new URL(url)
  own.username = role
  return { role, url: own.href }
}

describe.skipIf(!hasPostgres)('a schema of its own', () => {
  test('tables of another application with our names end a start before anything is written', async () => {
    const { url, admin } = await emptyDatabase()
    await admin`create table projects (id int)`
    await admin`create view events as select 1 as one`
    expect(await startOn(url)).toEqual([
      'The schema public has what Gatehouse did not make under names that it needs (events, projects): ' +
        'name a schema of its own with GATEHOUSE_DATABASE_SCHEMA.',
    ])
    expect(await tablesOf(admin, 'public')).toEqual(['projects'])
    expect(await startOn(url, 'gatehouse')).toEqual([])
  })

  test('has everything, and a server works in it beside another installation and other tables', async () => {
    const { url, admin } = await emptyDatabase()
    await admin.unsafe('create table public.projects (id int); create table public.events (id int)')
    const servers = []
    for (const databaseSchema of ['gatehouse', 'second']) {
      const h = await openHarness({ databaseUrl: url, databaseSchema })
      closers.push(() => h.stop())
      servers.push(h)
    }
    const [one, other] = servers
    expect((await one!.mutate('createAgent', { name: 'a' }, 'agent { name }'))['agent']).toEqual({
      name: 'a',
    })
    const agents = async (h: typeof one) =>
      (await h!.gql('{ agents(first: 5) { nodes { name } } }', {})).data['agents'].nodes
    expect(await agents(one)).toContainEqual({ name: 'a' })
    expect(await agents(other)).not.toContainEqual({ name: 'a' })
    expect((await tablesOf(admin, 'public')).toSorted()).toEqual(['events', 'projects'])
    expect(await tablesOf(admin, 'gatehouse')).toEqual(
      expect.arrayContaining(['projects', 'gatehouse_migrations']),
    )
    expect(await tablesOf(admin, 'drizzle')).toEqual([])
    const ready = await fetch(`${one!.url}/readyz`, { headers: { authorization: `Bearer ${adminKey}` } })
    expect(await ready.json()).toMatchObject({ status: 'ready', schema: newestMigration() })
  })

  test('is used as it is found by a role that may create nothing in the database', async () => {
    const { url, admin } = await emptyDatabase()
    const { role, url: own } = await roleOf(admin, url)
    await admin.unsafe('revoke create on schema public from public')
    expect(await startOn(own, 'tools')).toEqual([
      expect.stringMatching(
        `GATEHOUSE_DATABASE_SCHEMA names the schema tools, .* CREATE SCHEMA tools AUTHORIZATION ${role}`,
      ),
    ])
    expect(await startOn(own)).toEqual([
      expect.stringMatching(/may not create tables in the schema public: GRANT CREATE/),
    ])
    await admin.unsafe(`create schema tools authorization ${role}`)
    expect(await startOn(own, 'tools')).toEqual([])
    // It needs no such right when nothing is missing.
    await admin.unsafe(`alter schema tools owner to current_user; grant usage on schema tools to ${role}`)
    expect(await startOn(own, 'tools')).toEqual([])
  })
})

describe.skipIf(!hasPostgres)('a sentence', () => {
  test('names statements that work as they are', async () => {
    const { url, admin } = await emptyDatabase()
    const { url: own } = await roleOf(admin, url, `gatehouse-${randomUUID().slice(0, 8)}`)
    await admin.unsafe('revoke create on schema public from public')
    for (const [schema, statement] of [
      ['user', /CREATE SCHEMA .* AUTHORIZATION "[^"]+"/],
      ['public', /GRANT CREATE ON SCHEMA public TO "[^"]+"/],
    ] as const) {
      const [refusal] = await startOn(own, schema)
      await admin.unsafe(statement.exec(String(refusal))![0])
      expect(await startOn(own, schema)).toEqual([])
    }
  })
})

describe.skipIf(!hasPostgres)('the journal', () => {
  /** As a release before it has left the database, beside another application with newer migrations. */
  async function beforeTheJournal(client: postgres.Sql): Promise<void> {
    await client.unsafe(`create schema drizzle;
      create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint);
      drop table gatehouse_migrations`)
    for (const { folderMillis } of knownMigrations())
      await client`insert into drizzle.__drizzle_migrations (hash, created_at) values ('ours', ${folderMillis})`
    await client`insert into drizzle.__drizzle_migrations (hash, created_at) values ('foreign', ${Date.UTC(2100, 0)})`
  }

  test('is taken over once from the table that other applications share, whose rows stay', async () => {
    const made = await postgresDatabase()
    closers.push(() => made.drop())
    const client = clientOf(made.url)
    await beforeTheJournal(client)
    // It was skipped, because a row of the other application is newer.
    const last = knownMigrations().at(-1)!
    await client`delete from drizzle.__drizzle_migrations where created_at = ${last.folderMillis}`
    await client.unsafe('drop table person_logins; alter table upstream_logins drop column person')
    const rows = () => client`select count(*)::int as n from drizzle.__drizzle_migrations`
    const [before] = await rows()
    expect(await startOn(made.url)).toEqual([])
    expect((await rows())[0]).toEqual(before)
    const { db } = await open(made.url)
    expect(await newestName(db)).toBe(last.name)
    const index = sql`select 1 from pg_indexes where indexname = 'person_logins_of'`
    expect(await query(db, index)).toHaveLength(1)
    await client.unsafe('drop schema drizzle cascade')
    expect(await startOn(made.url)).toEqual([])
  })

  test('comes with a backup that a release before it has made', async () => {
    const made = await postgresDatabase()
    closers.push(() => made.drop())
    await beforeTheJournal(clientOf(made.url))
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-dump-'))
    closers.push(() => rm(folder, { recursive: true }))
    const dump = join(folder, 'dump')
    execFileSync('pg_dump', ['--format=custom', '--no-owner', `--file=${dump}`, `--dbname=${made.url}`])
    const { url } = await emptyDatabase()
    await loadDatabase({ url, schema: 'public' }, dump)
    expect(await startOn(url)).toEqual([])
    const { db } = await open(url)
    expect(await newestName(db)).toBe(newestMigration())
    await expect(loadDatabase({ url, schema: 'public' }, dump)).rejects.toThrow(
      /has tables. Restore into an empty one/,
    )
  })

  test('names what is missing, and what has another text', async () => {
    const made = await postgresDatabase()
    closers.push(() => made.drop())
    const client = clientOf(made.url)
    const at = knownMigrations().find(({ name }) => name.endsWith('argument-order'))!
    await client`delete from gatehouse_migrations where name = ${at.name}`
    await client.unsafe('alter table tool_calls drop column argument_order')
    expect(await startOn(made.url)).toEqual([expect.objectContaining({ migrations: [at.name] })])
    expect(await startOn(made.url)).toEqual([])
    await client`update gatehouse_migrations set hash = 'other' where name = ${at.name}`
    expect(await startOn(made.url)).toEqual([
      expect.stringContaining(`another text of ${at.name} than this release has`),
    ])
  })
})

describe.skipIf(!hasPostgres)('others', () => {
  test('get no rights by default privileges, and keep those that they were given', async () => {
    const { url, admin } = await emptyDatabase()
    const { role: anon, url: own } = await roleOf(admin, url)
    const { role: reader } = await roleOf(admin, url)
    await admin.unsafe(`alter default privileges in schema public grant all on tables to ${anon}, public;
      alter default privileges in schema public grant all on sequences to ${anon}`)
    expect(await startOn(url)).toEqual([
      expect.objectContaining({ roles: expect.arrayContaining([anon, 'PUBLIC']) as unknown }),
    ])
    await admin.unsafe(`grant usage on schema public to ${anon}`)
    const stranger = clientOf(own)
    for (const table of ['api_keys', 'events', 'tool_calls'])
      await expect(stranger.unsafe(`select * from ${table}`)).rejects.toThrow('permission denied')
    await admin.unsafe(`grant select on agents to ${reader}`)
    expect(await startOn(url)).toEqual([])
    const [row] = await admin`select has_table_privilege(${reader}, 'agents', 'select') as may`
    expect(row).toEqual({ may: true })
  })

  test('have settings that change nothing of what Gatehouse reads or decides', async () => {
    const { url, admin } = await emptyDatabase()
    const name = new URL(url).pathname.slice(1)
    const settings: Record<string, string> = {
      datestyle: 'SQL, DMY',
      intervalstyle: 'sql_standard',
      timezone: 'Asia/Kolkata',
      extra_float_digits: '-3',
      bytea_output: 'escape',
      standard_conforming_strings: 'off',
      client_encoding: 'LATIN1',
      default_transaction_isolation: 'serializable',
      default_transaction_deferrable: 'on',
      transform_null_equals: 'on',
      array_nulls: 'off',
      exit_on_error: 'on',
      search_path: 'pg_catalog',
      statement_timeout: '300',
      lock_timeout: '1',
      plan_cache_mode: 'force_custom_plan',
      gin_fuzzy_search_limit: '1',
      synchronous_commit: 'off',
    }
    for (const [setting, value] of Object.entries(settings))
      await admin.unsafe(
        `alter database ${name} set ${setting} = ${setting === 'datestyle' ? value : `'${value}'`}`,
      )
    const h = await openHarness({ databaseUrl: url })
    closers.push(() => h.stop())
    const goesOn = await atomically(h.app.services.db, async (tx) => {
      await atomically(tx, (inner) => query(inner, sql`select 1 / 0`)).catch(() => {})
      return query(tx, sql`select 1 as n`)
    })
    expect(goesOn).toEqual([{ n: 1 }])
    const expiresAt = '2020-04-03T00:00:00.000Z'
    const make = (more: object) =>
      h.mutate('createApiKey', { name: 'k', role: 'VIEWER', ...more }, 'secret apiKey { expiresAt }')
    const key = await make({ expiresAt: new Date(Date.now() + 86_400_000).toISOString() })
    await query(
      h.app.services.db,
      sql`update api_keys set expires_at = ${expiresAt}::timestamptz where name = 'k'`,
    )
    const answered = await fetch(`${h.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key['secret']}` },
      body: '{"query":"{ viewer { id } }"}',
    })
    expect(answered.status).toBe(401)
    const [row] = await query(
      h.app.services.db,
      sql`select current_setting('synchronous_commit') as commits, current_setting('statement_timeout') as time,
        current_setting('transaction_isolation') as level, (0.1::float8 + 0.2)::text as sum`,
    )
    expect(row).toEqual({ commits: 'on', time: '15s', level: 'read committed', sum: '0.30000000000000004' })
  })

  test('have limits of time that a restore does not meet, however long it waits for the dump', async () => {
    const made = await postgresDatabase()
    closers.push(() => made.drop())
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-dump-'))
    closers.push(() => rm(folder, { recursive: true }))
    const dump = join(folder, 'dump')
    await dumpDatabase({ url: made.url, schema: 'public' }, dump)
    const { url, admin } = await emptyDatabase()
    const name = new URL(url).pathname.slice(1)
    await admin.unsafe(`alter database ${name} set idle_in_transaction_session_timeout = 1`)
    // A pg_restore that begins when psql has waited in its transaction.
    const idle = `select 'idle' from pg_stat_activity where datname = '${name}' and application_name = 'psql' and state = 'idle in transaction'`
    const program = execFileSync('which', ['pg_restore'], { encoding: 'utf8' }).trim()
    await writeFile(
      join(folder, 'pg_restore'),
      `#!/bin/sh
case "$*" in *--file=-*)
  for try in $(seq 200); do psql --no-psqlrc -Atc "${idle}" '${made.url}' | grep -q idle && break; done ;;
esac
exec ${program} "$@"
`,
      { mode: 0o755 },
    )
    vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`)
    closers.push(() => vi.unstubAllEnvs())
    await loadDatabase({ url, schema: 'public' }, dump)
    expect(await startOn(url)).toEqual([])
  })

  test('have transactions: a statement that a deadlock has ended is sent again', async () => {
    const { url, admin } = await emptyDatabase()
    await admin.unsafe(
      'create table numbers (id int primary key, n int); insert into numbers values (1, 0), (2, 0)',
    )
    // Ours looks for a deadlock once, when it has waited so long; the other one must be in it by then, and not look before.
    await admin.unsafe(`alter database ${new URL(url).pathname.slice(1)} set deadlock_timeout = '3s'`)
    const { db } = await open(url)
    const other = clientOf(url)
    await other.unsafe("set deadlock_timeout = '1min'")
    await other.unsafe('begin; update numbers set n = n + 1 where id = 1')
    const ours = query(
      db,
      sql`with two as (update numbers set n = n + 10 where id = 2 returning n)
        update numbers set n = n + 10 where id = 1 and exists (select from two)`,
    )
    const waiting = () =>
      admin`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%n + 10%'`
    await vi.waitUntil(async () => (await waiting()).length > 0, { timeout: 90_000, interval: 20 })
    await other.unsafe('update numbers set n = n + 1 where id = 2')
    await other.unsafe('commit')
    await ours
    expect(await admin`select n from numbers order by id`).toEqual([{ n: 11 }, { n: 11 }])
  })

  test('encodings that cannot hold every text are refused in a sentence', async () => {
    const { url, admin } = await emptyDatabase()
    const name = `${new URL(url).pathname.slice(1)}_latin`
    await admin.unsafe(`create database ${name} encoding 'LATIN1' locale 'C' template template0`)
    closers.push(() => admin.unsafe(`drop database ${name} with (force)`))
    const latin = new URL(url)
    latin.pathname = name
    expect(await startOn(latin.href)).toEqual([
      expect.stringMatching(/^The database has the encoding LATIN1.*ENCODING 'UTF8'/),
    ])
    expect(await tablesOf(clientOf(latin.href), 'public')).toEqual([])
  })
})
