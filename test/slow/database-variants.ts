/** PostgreSQL as people have it, as data: how a database is made, reached and set, and what a start on it must say. */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import type { Certificates } from '../support/certificates.ts'
import type { Cluster } from '../support/cluster.ts'

/** What the variants share: a server of their own, which listens with TLS on two addresses and on a socket. */
export interface Surroundings {
  cluster: Cluster
  certificates: Certificates
  /** The directory of the socket. */
  socketDir: string
  /** The URLs of poolers before the server, by their mode. */
  poolers: Record<'session' | 'transaction', string>
}

export interface Variant {
  name: string
  /** What the names of the database and of its role begin with. */
  named?: string
  /** How the database is created: words behind its name. */
  create?: string
  /** Settings of the database and of the role, as SQL values. */
  database?: Record<string, string>
  role?: Record<string, string>
  /** Statements of an administrator in the new database; ROLE and DATABASE stand for their names. */
  prepare?: string
  /** Further settings of Gatehouse, and the address; the default is that of the server. */
  settings?: (url: URL, around: Surroundings) => Record<string, string>
}

export interface Accepted extends Variant {
  /**
   * What the release before does on an empty database of this kind: it works, or says why it does not start; it starts, or
   * is never started, for the reason that is here.
   */
  before: 'works' | RegExp | `starts: ${string}` | `never: ${string}`
}

export interface Refused extends Variant {
  /** The sentence of the start. */
  says: RegExp
}

/** Of the key of the client's certificate. */
export const keyPassword = 'open = me now'

/** As somebody may have who works by hand on the same database, or another application of it. */
const oddFormats = {
  datestyle: 'SQL, DMY',
  intervalstyle: 'iso_8601',
  extra_float_digits: '0',
  bytea_output: 'escape',
  timezone: "'America/St_Johns'",
}
const tls =
  (mode: string, host: string) =>
  (url: URL, { certificates }: Surroundings) => {
    url.hostname = host
    url.searchParams.set('sslmode', mode)
    if (mode.startsWith('verify')) url.searchParams.set('sslrootcert', certificates.file('authority.pem'))
    return { DATABASE_URL: url.href }
  }
const inSchema = (schema: string) => (url: URL) => ({
  DATABASE_URL: url.href,
  GATEHOUSE_DATABASE_SCHEMA: schema,
})
const pooled =
  (mode: 'session' | 'transaction', direct = false) =>
  (url: URL, { poolers }: Surroundings) => {
    const through = new URL(url)
    through.host = new URL(poolers[mode]).host
    return { DATABASE_URL: through.href, ...(direct ? { DIRECT_URL: url.href } : {}) }
  }
/** The role owns what is made for it. */
const createsNone =
  'revoke create on database DATABASE from ROLE; alter schema public owner to postgres; revoke create on schema public from public'
const noSchemas = 'never: it has its tables in public alone'

export const accepted: Accepted[] = [
  {
    name: 'formats of dates, numbers and bytes',
    database: oddFormats,
    before: 'starts: it reads dates in one format alone, so that its requests fail',
  },
  {
    name: 'serializable transactions',
    database: { default_transaction_isolation: 'serializable' },
    before: 'works',
  },
  {
    name: 'backslashes in texts',
    database: { standard_conforming_strings: 'off', quote_all_identifiers: 'on' },
    before: 'works',
  },
  {
    name: 'arrays, searches and errors of another kind',
    role: {
      array_nulls: 'off',
      default_text_search_config: "'simple'",
      timezone_abbreviations: "'Australia'",
      exit_on_error: 'on',
      enable_seqscan: 'off',
    },
    before: /connection to the database was lost/,
  },
  {
    name: 'a search path that leads elsewhere',
    role: { search_path: 'elsewhere, pg_catalog' },
    prepare: 'create schema elsewhere authorization ROLE; create table elsewhere.projects (id int)',
    before: /relation "projects" already exists/,
  },
  {
    name: 'a schema that was made for a role that creates none',
    prepare: `${createsNone}; create schema tools authorization ROLE`,
    settings: inSchema('tools'),
    before: noSchemas,
  },
  {
    name: 'a schema whose name is a word of SQL',
    settings: inSchema('user'),
    before: noSchemas,
  },
  {
    name: 'default privileges and row security as Supabase has them',
    prepare: `${createsNone}; grant usage on schema public to anon, authenticated;
      create schema tools authorization ROLE;
      grant usage on schema tools to anon, authenticated;
      alter default privileges for role ROLE grant all on tables to anon, authenticated;
      alter default privileges for role ROLE grant all on sequences to anon, authenticated;
      create function secure_table() returns event_trigger language plpgsql as $$
        declare one record;
        begin
          for one in select * from pg_event_trigger_ddl_commands() where object_type = 'table' loop
            execute format('alter table %s enable row level security', one.object_identity);
          end loop;
        end $$;
      create event trigger secure_tables on ddl_command_end when tag in ('CREATE TABLE') execute function secure_table()`,
    settings: inSchema('tools'),
    before: noSchemas,
  },
  {
    name: 'the locale C.UTF-8',
    create: `encoding 'UTF8' locale 'C.UTF-8' template template0`,
    before: 'works',
  },
  {
    name: 'a collation of ICU that ignores case at first and counts',
    create: `encoding 'UTF8' locale_provider icu icu_locale 'de-u-kn-true-kf-upper' locale 'C.UTF-8' template template0`,
    before: 'works',
  },
  {
    name: 'names with capitals, spaces, quotes and other letters',
    named: `Dev "Ops" 'é' %41 `,
    before: /database "Dev%20.*" does not exist|role .* does not exist/,
  },
  {
    name: 'two hosts of which the first is away',
    settings: ({ href, host }) => ({ DATABASE_URL: href.replace(host, `127.0.0.1:9,${host}`) }),
    before: 'works',
  },
  { name: 'TLS that is demanded', settings: tls('require', 'localhost'), before: 'works' },
  {
    name: 'TLS with an authority, for a name',
    settings: tls('verify-full', 'localhost'),
    before: /demands/,
  },
  {
    name: 'TLS with an authority, for an address',
    settings: tls('verify-full', '127.0.0.1'),
    before: /demands/,
  },
  {
    name: 'TLS with an authority that Node.js is told',
    settings: (url, { certificates }) => {
      url.hostname = 'localhost'
      url.searchParams.set('sslmode', 'verify-full')
      return { DATABASE_URL: url.href, NODE_EXTRA_CA_CERTS: certificates.file('authority.pem') }
    },
    before: 'works',
  },
  {
    name: 'a client certificate whose key has a password',
    settings: (url, { certificates }) => {
      url.hostname = 'localhost'
      url.searchParams.set('sslmode', 'verify-full')
      url.searchParams.set('sslrootcert', certificates.file('authority.pem'))
      url.searchParams.set('sslcert', certificates.file('client.pem'))
      url.searchParams.set('sslkey', certificates.file('client.locked.key'))
      return { DATABASE_URL: `${url.href}&sslpassword=${encodeURIComponent(keyPassword)}` }
    },
    before: /demands/,
  },
  { name: 'a pooler of sessions', settings: pooled('session'), before: 'works' },
  { name: 'a pooler of sessions, and a way past it', settings: pooled('session', true), before: 'works' },
  {
    name: 'a socket of this machine',
    settings: (url, { socketDir }) => {
      const { username, pathname, port } = url
      return { DATABASE_URL: `postgres://${username}@${encodeURIComponent(socketDir)}:${port}${pathname}` }
    },
    before: /must be postgres|ENOTFOUND/,
  },
  {
    name: 'limits of time that are short',
    role: { statement_timeout: '20', lock_timeout: '1', idle_in_transaction_session_timeout: '1' },
    before: /connection to the database was lost/,
  },
  {
    name: 'compiled statements and plans for no value',
    role: { jit: 'on', jit_above_cost: '0', plan_cache_mode: 'force_generic_plan' },
    before: 'works',
  },
  {
    name: 'a role that acts as another, who owns everything',
    prepare: `grant anon to ROLE; alter role ROLE set role = anon; alter schema public owner to anon;
      grant create on database DATABASE to anon`,
    before: 'works',
  },
]

export const refused: Refused[] = [
  ...['Tools', 'my-tools', 'to"ols', 'pg_tools'].map((schema): Refused => ({
    name: `a schema ${schema}`,
    settings: inSchema(schema),
    says: /^- GATEHOUSE_DATABASE_SCHEMA must be a name of small letters/m,
  })),
  ...['LATIN1', 'SQL_ASCII'].map((encoding): Refused => ({
    name: `the encoding ${encoding}`,
    create: `encoding '${encoding}' locale 'C' template template0`,
    says: new RegExp(`^The database has the encoding ${encoding}, .* Create it with ENCODING 'UTF8'`),
  })),
  {
    name: 'TLS for another address than that of the certificate',
    settings: tls('verify-full', '127.0.0.2'),
    says: /DATABASE_URL names[^]*because: .*127\.0\.0\.2/,
  },
  {
    name: 'TLS by an authority that nobody knows',
    settings: (url) => {
      url.searchParams.set('sslmode', 'verify-full')
      return { DATABASE_URL: url.href }
    },
    says: /DATABASE_URL names[^]*because: .*(self-signed|unable to)/,
  },
  {
    name: 'a pooler of transactions',
    settings: pooled('transaction'),
    says: /^DATABASE_URL leads to a pooler that shares connections/,
  },
  {
    name: 'a pooler of transactions, and a way past it',
    settings: pooled('transaction', true),
    says: /^DATABASE_URL leads to a pooler that shares connections/,
  },
  {
    name: 'a database that may only be read',
    database: { default_transaction_read_only: 'on' },
    says: /DATABASE_URL names[^]*default_transaction_read_only/,
  },
]

export interface Place {
  /** How Gatehouse reaches it. */
  settings: Record<string, string>
  /** A client of the administrator. */
  admin: postgres.Sql
  /** How many tables, indexes, sequences and schemas there are that no new database has. */
  objects(): Promise<number>
  close(): Promise<void>
}

/** An empty database of this kind, with a role of its own. */
export async function makePlace(variant: Variant, around: Surroundings): Promise<Place> {
  const name = `${variant.named ?? 'v'}${randomBytes(5).toString('hex')}`
  const quoted = `"${name.replaceAll('"', '""')}"`
  const clientOf = (database: string) => {
    const url = new URL(around.cluster.url)
    url.pathname = `/${encodeURIComponent(database)}`
    return { url, client: postgres(url.href, { database, max: 1, onnotice: () => {} }) }
  }
  const named = (text: string) => text.replaceAll('ROLE', quoted).replaceAll('DATABASE', quoted)
  const server = clientOf('postgres').client
  await server.unsafe(`create role ${quoted} login`)
  await server.unsafe(`create database ${quoted} ${variant.create ?? ''}`)
  // The owner of a database may create schemas in it; what a variant prepares may take that away.
  await server.unsafe(`grant create on database ${quoted} to ${quoted}`)
  const { url, client: admin } = clientOf(name)
  await admin.unsafe(`alter schema public owner to ${quoted}`)
  if (variant.prepare) await admin.unsafe(named(variant.prepare))
  for (const [setting, value] of Object.entries(variant.database ?? {}))
    await server.unsafe(`alter database ${quoted} set ${setting} = ${value}`)
  for (const [setting, value] of Object.entries(variant.role ?? {}))
    await server.unsafe(`alter role ${quoted} set ${setting} = ${value}`)
  url.username = encodeURIComponent(name)
  return {
    settings: variant.settings?.(url, around) ?? { DATABASE_URL: url.href },
    admin,
    async objects() {
      const [row] = await admin`with others as (
          select oid from pg_namespace where nspname !~ '^pg_' and nspname not in ('information_schema', 'public'))
        select (select count(*) from others)::int + (select count(*) from pg_class
          where relnamespace = 'public'::regnamespace or relnamespace in (select oid from others))::int as n`
      return row!['n'] as number
    },
    async close() {
      await Promise.all([admin.end({ timeout: 1 }), server.end({ timeout: 1 })])
    },
  }
}
